"""Checkpoints of reviews: an agent claims to have reviewed that version of a chat."""

from typing import NamedTuple

from mash_plugin.records.model import Scope
from mash_plugin.store.queries import load
from mash_plugin.store.records import place_key
from mash_plugin.store.sqlite import Connection

_SQL = load("checkpoints")


class Checkpoint(NamedTuple):
    """The version that was last reviewed, and when."""

    source_fingerprint: str
    processed_at: int


def get_checkpoint(db: Connection, owner: str, chat_id: str, scope: Scope) -> Checkpoint | None:
    """The checkpoint of a chat for one scope, or None before its first review."""
    row = db.one(_SQL.get_checkpoint, {**place_key(owner, scope), "chat_id": chat_id})
    return Checkpoint._make(row) if row else None


def save_checkpoint(
    db: Connection, owner: str, chat_id: str, scope: Scope, reviewed: Checkpoint, records: int
) -> None:
    """Let a review replace the last one, in the transaction of its records."""
    key = {**place_key(owner, scope), "chat_id": chat_id}
    db.run(_SQL.save_checkpoint, {**key, **reviewed._asdict(), "record_count": records})
