"""Take out of older copies of the store what was forgotten since they were made."""

import os
from dataclasses import dataclass
from typing import Literal, NamedTuple

import apsw

from mash_plugin.chat_ids import chat_id
from mash_plugin.errors import Internal, LocalFailure, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store.backup import (
    PART,
    Contents,
    backups,
    contents,
    copy,
    locked,
    remove_parts,
    verify,
)
from mash_plugin.store.changes import remove_record
from mash_plugin.store.connect import connect_frozen, connect_reading, refuse_foreign, set_pragmas
from mash_plugin.store.faults import translated, translated_files
from mash_plugin.store.files import remove_database
from mash_plugin.store.forgotten import (
    Marks,
    all_marks,
    chats_named_in,
    hook_sessions,
    older_copies,
    put_marks,
    records_in,
    records_of_chats,
    remove_traces,
)
from mash_plugin.store.sqlite import Connection
from mash_plugin.syncing import sync_file, sync_folder

Outcome = Literal["rewritten", "unchanged", "damaged", "left"]


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What was done with one older copy."""

    path: str
    outcome: Outcome
    records: int = 0
    """How many records were taken out."""
    chats: int = 0
    """Of how many forgotten chats something was taken out."""
    problem: str | None = None
    """Why the file was left as it was."""


class _Gone(NamedTuple):
    records: list[str]
    chats: list[str]
    sessions: list[str]

    def __bool__(self) -> bool:
        return bool(self.records or self.chats or self.sessions)


def rewrite_backups(paths: Paths, now: int) -> list[Rewritten]:
    """Rewrite every kept backup without what the store has forgotten; what came of each.

    Each is copied, cleaned, compacted, checked, and only then put in the place of the old one.
    A damaged one is left alone. Raises what keeps the store itself from being read.
    """
    marks = marks_of(paths.store)
    done: list[Rewritten] = []
    if os.path.isdir(paths.backups):
        with translated_files(paths.backups), locked(paths.backups):
            remove_parts(paths.backups)
            kept = [backup.path for backup in backups(paths.backups)]
            done = [_try(path, marks, now) for path in kept]
    for path in older_copies(paths.data, ()):
        done.append(_aside(paths, path, marks, now))
    return done


def marks_of(path: str) -> Marks:
    """What the store at that path has forgotten; raises what keeps it from being read."""
    with translated(path):
        raw = connect_reading(path)
        try:
            refuse_foreign(raw, path)
            return all_marks(Connection(raw))
        finally:
            raw.close()


def forget_again(db: Connection, marks: Marks, now: int) -> int:
    """Take out of an older copy, inside a write, what is forgotten by now; how many records."""
    gone = _gone(db, marks)
    _take_out(db, gone, marks, now)
    return len(gone.records)


def _aside(paths: Paths, path: str, marks: Marks, now: int) -> Rewritten:
    """A store that `mash restore` set aside; an index, or one with a log, is left alone."""
    if not path.startswith(paths.store):
        return Rewritten(path, "left", problem="an index that was set aside; remove it by hand")
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
        return Rewritten(path, "left", problem="it was set aside with its log; remove it by hand")
    return _try(path, marks, now)


def _try(path: str, marks: Marks, now: int) -> Rewritten:
    try:
        return _rewrite(path, marks, now)
    except StoreDamaged as error:
        return Rewritten(path, "damaged", problem=error.message)
    except LocalFailure as error:
        return Rewritten(path, "left", problem=error.message)


def _rewrite(path: str, marks: Marks, now: int) -> Rewritten:
    verify(path)
    part = path + PART
    try:
        with translated(path):
            source = connect_frozen(path)
            try:
                gone = _gone(Connection(source), marks)
                if not gone:
                    return Rewritten(path, "unchanged")
                copy(source, part, journal="DELETE")
            finally:
                source.close()
            wanted = _clean(part, gone, marks, now)
        sync_file(part)
        if verify(part) != wanted:
            raise Internal(f"The copy of {path} is not as it should be; it was thrown away.")
        os.rename(part, path)
        sync_folder(os.path.dirname(path))
    finally:
        remove_database(part)
    return Rewritten(path, "rewritten", len(gone.records), len(gone.chats))


def _gone(db: Connection, marks: Marks) -> _Gone:
    """What of a copy is forgotten by now."""
    chats = [c for c in chats_named_in(db) if marks.has_chat(c)]
    sessions = [
        session for agent, session in hook_sessions(db) if marks.has_chat(chat_id(agent, session))
    ]
    records = records_in(db) & marks.records
    return _Gone(sorted(records.union(records_of_chats(db, chats))), chats, sessions)


def _clean(part: str, gone: _Gone, marks: Marks, now: int) -> Contents:
    """Take it out of the copy and build the file anew; what it holds then."""
    raw = apsw.Connection(part, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        set_pragmas(
            raw,
            # No log and no other file gets the old text; a copy that is cut short is thrown away.
            "journal_mode = MEMORY",
            "temp_store = MEMORY",
            "secure_delete = ON",
            "foreign_keys = ON",
            "trusted_schema = OFF",
        )
        db = Connection(raw)
        raw.execute("BEGIN IMMEDIATE")
        _take_out(db, gone, marks, now)
        raw.execute("COMMIT")
        list(raw.execute("VACUUM"))
        set_pragmas(raw, "journal_mode = DELETE")
        return contents(db)
    finally:
        raw.close()


def _take_out(db: Connection, gone: _Gone, marks: Marks, now: int) -> None:
    for record_id in gone.records:
        remove_record(db, record_id, now)
    remove_traces(db, gone.chats, gone.sessions)
    put_marks(db, marks, now)
