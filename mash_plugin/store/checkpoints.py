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
    """Let a review replace the last one, even a failed one, in the transaction of its records."""
    key = {**place_key(owner, scope), "chat_id": chat_id}
    db.run(_SQL.save_checkpoint, {**key, **reviewed._asdict(), "record_count": records})
    db.run(_SQL.drop_failed_review, {"chat_id": chat_id})


def failed_reviews(db: Connection) -> frozenset[str]:
    """The chats whose last review by a backfill was not saved."""
    return frozenset(chat_id for (chat_id,) in db.all(_SQL.failed_reviews))


def note_failed_review(db: Connection, chat_id: str, agent: str, kind: str, now: int) -> None:
    """Remember that an agent's review was not saved; never what it said."""
    db.run(_SQL.note_failed_review, {"chat_id": chat_id, "agent": agent, "kind": kind, "now": now})
