"""Marks of forgotten chats (R-180), what hangs on a chat, and the scrubbing of deleted text."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.errors import Forgotten, MashError
from mash_plugin.store.operations import Identity, chat_key, identity_of
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection, Database

_SQL = load("forgotten")


class Marks(NamedTuple):
    """Everything that a store has forgotten, as its marks tell."""

    identity: Identity
    records: frozenset[str]
    chats: frozenset[bytes]

    def has_chat(self, chat_id: str) -> bool:
        """Whether that chat was forgotten."""
        return bool(self.chats) and chat_key(self.identity, chat_id) in self.chats


class RecordLine(NamedTuple):
    """A record as far as a person must see it before it goes."""

    id: str
    kind: str
    review: str
    state: str
    recorded_at: int
    statement: str


def mark_chats(db: Connection, chat_ids: Iterable[str], now: int) -> None:
    """Keep these chats out for ever; the mark holds nothing of them, not even the ID."""
    identity = identity_of(db)
    for chat_id in chat_ids:
        db.run(_SQL.insert_mark, {"chat_key": chat_key(identity, chat_id), "now": now})


def unmark_chats(db: Connection, chat_ids: Iterable[str]) -> int:
    """Let these chats in again; how many had been forgotten."""
    identity = identity_of(db)
    keys = [chat_key(identity, chat_id) for chat_id in chat_ids]
    return sum(db.run(_SQL.delete_mark, {"chat_key": key}) for key in keys)


def has_marks(db: Connection) -> bool:
    """Whether any chat was forgotten."""
    return db.one(_SQL.has_marks) is not None


def has_mark(db: Connection, chat_id: str, identity: Identity | None = None) -> bool:
    """Whether a chat of that ID was forgotten."""
    if not has_marks(db):
        return False
    key = chat_key(identity or identity_of(db), chat_id)
    return db.one(_SQL.has_mark, {"chat_key": key}) is not None


def refuse_forgotten(db: Connection, chat_ids: Iterable[str]) -> None:
    """Raise Forgotten when a chat that is about to be cited was forgotten meanwhile."""
    if not has_marks(db):
        return
    identity = identity_of(db)
    for chat_id in set(chat_ids):
        if has_mark(db, chat_id, identity):
            raise Forgotten("The cited chat was forgotten; its words are not saved again.")


def records_of_chats(db: Connection, chat_ids: Iterable[str]) -> list[str]:
    """The records that go with these chats (R-178)."""
    rows = db.all(_SQL.records_of_chats, {"chat_ids": compact_json(list(chat_ids))})
    return [str(row[0]) for row in rows]


def describe_records(db: Connection, record_ids: Iterable[str]) -> list[RecordLine]:
    """Those records, the newest first."""
    rows = db.all(_SQL.describe_records, {"record_ids": compact_json(list(record_ids))})
    return [RecordLine(*row) for row in rows]


def count_checkpoints(db: Connection, chat_ids: Iterable[str]) -> int:
    """How many extraction checkpoints these chats have."""
    row = db.one(_SQL.count_checkpoints, {"chat_ids": compact_json(list(chat_ids))})
    return int(row[0]) if row else 0


def remove_traces(db: Connection, chat_ids: Iterable[str], session_ids: Iterable[str]) -> None:
    """Remove what else the store keeps of these chats: checkpoints and the state of hooks."""
    chats = {"chat_ids": compact_json(list(chat_ids))}
    db.run(_SQL.delete_checkpoints, chats)
    db.run(_SQL.delete_backfill, chats)
    db.run(_SQL.delete_shown, chats)
    sessions = {"session_ids": compact_json(list(session_ids))}
    db.run(_SQL.delete_sessions, sessions)
    db.run(_SQL.delete_askers, sessions)
    db.run(_SQL.set_unclean)


def scrub_deleted(database: Database, prepare: Callable[[], None] = lambda: None) -> bool:
    """Scrub what was deleted since the last time; False when that could not be done now.

    The note that there is something to scrub outlives a kill: the next start goes on with it.
    The deletion itself is committed, so that nothing that fails here makes it fail.
    """
    with suppress(MashError):
        with database.reading() as db:
            row = db.one(_SQL.get_unclean)
        if row is None:
            return True
        prepare()
        if database.scrub():
            with database.writing(may_use_reserve=True) as db:
                db.run(_SQL.delete_unclean, {"seen": row[0]})
            return True
    database.on_unclean()
    return False


def all_marks(db: Connection) -> Marks:
    """Everything that the store has forgotten."""
    records = frozenset(str(row[0]) for row in db.all(_SQL.all_record_marks))
    chats = frozenset(bytes(row[0]) for row in db.all(_SQL.all_chat_marks))
    return Marks(identity_of(db), records, chats)


def put_marks(db: Connection, marks: Marks, now: int) -> None:
    """Let an older copy know what was forgotten since, for the day when it is restored."""
    for chat in marks.chats:
        db.run(_SQL.insert_mark, {"chat_key": chat, "now": now})


def records_in(db: Connection) -> set[str]:
    """Every record that the store has, hidden ones included."""
    return {str(row[0]) for row in db.all(_SQL.all_records)}


def chats_named_in(db: Connection) -> list[str]:
    """Every chat that the store has something of."""
    return [str(row[0]) for row in db.all(_SQL.chats_named)]


def hook_sessions(db: Connection) -> list[tuple[str, str]]:
    """(agent, session) of every session that hooks have told of."""
    return [(str(agent), str(session)) for agent, session in db.all(_SQL.hook_sessions)]


def older_copies(data: str, backups: Iterable[str]) -> list[str]:
    """Files that may still hold what was removed: backups, and stores that were set aside."""
    try:
        names = sorted(os.listdir(data))
    except OSError:
        names = []
    aside = [n for n in names if any(f".db.{word}-" in n for word in ("damaged", "before-restore"))]
    return [*backups, *(os.path.join(data, n) for n in aside if not n.endswith(("-wal", "-shm")))]
