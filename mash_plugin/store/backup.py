"""Verified copies of the record store: one a day, one before every migration, three kept."""

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import apsw

from mash_plugin.errors import LocalFailure, StoreDamaged
from mash_plugin.store.connect import connect_frozen, refuse_foreign
from mash_plugin.store.faults import lost, translated, translated_files
from mash_plugin.store.files import make_private_folder, remove_database
from mash_plugin.store.migrate import refuse_newer, schema_number
from mash_plugin.store.scrub import zero_all_gaps
from mash_plugin.store.sqlite import Connection, Database
from mash_plugin.syncing import sync_file, sync_folder

DAY_MS = 24 * 60 * 60 * 1000
KEEP = 3
COUNTED = ("records", "revisions", "evidence", "links", "receipts", "record_tombstones")
PART = ".part"
_PREFIX, _SUFFIX = "records-", ".db"
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Backup:
    """One finished copy. Its number gives the order: the clock may have been set back."""

    path: str
    number: int
    made_at: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a verified file holds."""

    schema: int
    counts: Mapping[str, int]


def daily(database: Database, folder: str, now: int) -> Backup | None:
    """Make the day's backup if it is due; None when it is not, or there is nothing to keep.

    Due: none yet, or the newest is a day old, or the clock was set back beyond it; at once
    when the file was deleted while open, for then this process alone still reads it. An empty
    store is not copied, so a first record is kept as soon as this is asked again.
    """
    if database.problem:
        return None
    is_lost, done = database.is_displaced, backups(folder)
    if done and 0 <= now - done[0].made_at < DAY_MS and not is_lost:
        return None
    with database.reading() as db:
        if not _holds_something(db):
            return None
    made = make(database, folder, now)
    if is_lost:
        database.stop(lost(database.path))
    return made


def make(database: Database, folder: str, now: int) -> Backup:
    """Copy, verify and only then name the copy; older ones beyond KEEP go afterwards.

    On any failure nothing is left behind and the earlier backups stay.
    """
    with translated_files(folder):
        return _make(database, folder, now)


def _make(database: Database, folder: str, now: int) -> Backup:
    make_private_folder(folder)
    with locked(folder):
        remove_parts(folder)
        return _make_next(database, folder, now)


def _make_next(database: Database, folder: str, now: int) -> Backup:
    done = backups(folder)
    number = done[0].number + 1 if done else 1
    stamp = datetime.fromtimestamp(now // 1000, UTC).strftime(_STAMP)
    path = os.path.join(folder, f"{_PREFIX}{number:06d}-{stamp}{_SUFFIX}")
    part = path + PART
    try:
        with database.reading() as db:
            wanted = contents(db)
            copy(db.raw, part, journal="DELETE")
        zero_all_gaps(part)
        found = verify(part)
        if found != wanted:
            raise StoreDamaged(f"The copy of {database.path} differs from it; it was thrown away.")
        os.rename(part, path)
        sync_folder(folder)
    finally:
        remove_database(part)
    for old in backups(folder)[KEEP:]:
        os.unlink(old.path)
    return Backup(path, number, now // 1000 * 1000)


def verify(path: str) -> Contents:
    """Open a copy, check every page and count; raises StoreDamaged or UpgradeNeeded."""
    with translated(path):
        raw = connect_frozen(path)
        try:
            refuse_foreign(raw, path)
            problem = quick_check(raw)
            if problem:
                raise StoreDamaged(f"{path} is damaged: {problem}.")
            found = contents(Connection(raw))
        finally:
            raw.close()
    refuse_newer(path, found.schema, schema_number("records"))
    return found


def backups(folder: str) -> list[Backup]:
    """Every finished backup, the newest first."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [b for b in (_parsed(folder, name) for name in names) if b and _is_file(b.path)]
    return sorted(found, key=lambda b: b.number, reverse=True)


def newest_good(folder: str) -> Backup | None:
    """The newest backup that can be verified here and now."""
    for backup in backups(folder):
        try:
            verify(backup.path)
        except LocalFailure:
            continue
        return backup
    return None


def quick_check(raw: apsw.Connection) -> str | None:
    """What SQLite's quick_check has against the file, or None."""
    rows = [str(row[0]) for row in raw.execute("PRAGMA quick_check(5)")]
    return None if rows == ["ok"] else "; ".join(rows)


def contents(db: Connection) -> Contents:
    """The schema and the rows of each table that the person would miss."""
    (schema,) = db.one("PRAGMA user_version") or (0,)
    tables = {name for (name,) in db.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    counts = {t: _count(db, t) for t in COUNTED if t in tables}
    return Contents(int(schema), counts)


def copy(source: apsw.Connection, path: str, journal: Literal["DELETE", "WAL"]) -> None:
    """Copy a database page by page into a new private file, on disk when this returns."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    target = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with translated(path):
            backup = target.backup("main", source, "main")
            try:
                while not backup.done:
                    backup.step(1024)
            finally:
                try:  # noqa: SIM105 - leaving a `with` would raise what apsw still holds
                    backup.close(True)  # the step has raised; `with` would raise over it
                except SystemError:  # seen when a tracer runs and a Python VFS has raised
                    pass
            list(target.execute(f"PRAGMA journal_mode = {journal}"))
    finally:
        target.close()
    sync_file(path)


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Keep every other process from making or rewriting backups meanwhile."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def remove_parts(folder: str) -> None:
    """Remove what a process that was killed had not finished; only inside `locked`."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and _SUFFIX + PART in name:
            os.unlink(os.path.join(folder, name))


def _holds_something(db: Connection) -> bool:
    row = db.one("SELECT EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM receipts)")
    return bool(row and row[0])


def _count(db: Connection, table: str) -> int:
    (number,) = db.one(f"SELECT count(*) FROM {table}") or (0,)  # noqa: S608 - names from COUNTED
    return int(number)


def _is_file(path: str) -> bool:
    """Whether it is a file itself: a pipe is opened for ever, and a link leads elsewhere."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _parsed(folder: str, name: str) -> Backup | None:
    if not (name.startswith(_PREFIX) and name.endswith(_SUFFIX)):
        return None
    number, _, stamp = name[len(_PREFIX) : -len(_SUFFIX)].partition("-")
    try:
        made_at = datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC)
        return Backup(os.path.join(folder, name), int(number), int(made_at.timestamp()) * 1000)
    except ValueError:
        return None
