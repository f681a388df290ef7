"""Checkpoints of reviews: an agent claims to have reviewed that version of a chat."""

from typing import NamedTuple

from mash_plugin.records.model import Scope
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

_SQL = load("checkpoints")


class Checkpoint(NamedTuple):
    """The version that was last reviewed, and when."""

    source_fingerprint: str
    processed_at: int


def get_checkpoint(db: Connection, owner: str, chat_id: str, scope: Scope) -> Checkpoint | None:
    """The checkpoint of a chat for one scope, or None before its first review."""
    row = db.one(_SQL.get_checkpoint, _key(owner, chat_id, scope))
    return Checkpoint._make(row) if row else None


def save_checkpoint(
    db: Connection, owner: str, chat_id: str, scope: Scope, reviewed: Checkpoint, records: int
) -> None:
    """Let a review replace the last one, in the transaction of its records."""
    db.run(
        _SQL.save_checkpoint,
        {**_key(owner, chat_id, scope), **reviewed._asdict(), "record_count": records},
    )


def _key(owner: str, chat_id: str, scope: Scope) -> dict[str, str]:
    return {
        "owner_id": owner,
        "chat_id": chat_id,
        "scope_kind": scope.kind,
        "scope_value": scope.value,
    }
