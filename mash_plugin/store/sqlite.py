"""One SQLite file through apsw: one writing connection, a reader for each thread."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import apsw

from mash_plugin.errors import DiskFull, MashError, ReadOnly, StoreBusy, StoreDamaged

Row = tuple[Any, ...]
Params = Mapping[str, Any]
BUSY_MS = 2_000


class Connection:
    """The three verbs of the store over one apsw connection."""

    def __init__(self, raw: apsw.Connection) -> None:
        self.raw = raw

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """The first row, or None."""
        return next(iter(self.raw.execute(sql, params or {})), None)

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        """Every row."""
        return list(self.raw.execute(sql, params or {}))

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute to the end; the number of rows changed."""
        before = self.raw.total_changes()
        # A cursor that is not drained stops at the first row-returning statement (apsw).
        list(self.raw.execute(sql, params or {}))
        return self.raw.total_changes() - before

    def run_many(self, sql: str, rows: list[Params]) -> None:
        """Execute once for each row of parameters."""
        self.raw.executemany(sql, rows)


class Database:
    """Owns one database file. `durability` FULL: an acknowledged write survives a power cut."""

    def __init__(self, path: str, durability: Literal["FULL", "NORMAL"]) -> None:
        self.path = path
        self.durability = durability
        self._local = threading.local()
        self._readers: list[apsw.Connection] = []
        self._write_lock = threading.RLock()
        with _translated(path):
            self._writer = Connection(self._open())

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """The writing connection inside BEGIN IMMEDIATE; commits, or rolls back on an error.

        Raises StoreBusy, DiskFull, ReadOnly or StoreDamaged. A failed COMMIT carries
        `details.outcome = "unknown"`: only a retry with the same operation ID can tell.
        """
        with self._write_lock:
            connection = self._writer
            with _translated(self.path):
                connection.raw.execute("BEGIN IMMEDIATE")
            try:
                with _translated(self.path):
                    yield connection
            except BaseException:
                self._roll_back()
                raise
            self._commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """This thread's reader, in one snapshot."""
        connection = self._reader()
        with _translated(self.path):
            connection.raw.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.raw.execute("ROLLBACK")

    def checkpoint(self, mode: Literal["PASSIVE", "TRUNCATE"]) -> None:
        """Move the write-ahead log into the file; the writer does all checkpoints."""
        with self._write_lock, _translated(self.path):
            self._writer.run(f"PRAGMA wal_checkpoint({mode})")

    def close(self) -> None:
        """Close every connection; the last one leaves no write-ahead log behind."""
        with self._write_lock:
            for raw in self._readers:
                raw.close()
            self._readers.clear()
            self._writer.raw.close()

    def _reader(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with _translated(self.path):
                raw = self._open()
                list(raw.execute("PRAGMA query_only = ON"))
            connection = self._local.connection = Connection(raw)
            self._readers.append(raw)
        return connection

    def _open(self) -> apsw.Connection:
        raw = apsw.Connection(self.path)
        raw.set_busy_timeout(BUSY_MS)
        raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {self.durability}",
            "wal_autocheckpoint = 0",
            "foreign_keys = ON",
            "trusted_schema = OFF",
            "cell_size_check = ON",
            "secure_delete = ON",
            "fullfsync = ON",  # macOS: fsync alone does not reach the platter
            "checkpoint_fullfsync = ON",
        ):
            list(raw.execute(f"PRAGMA {pragma}"))
        os.chmod(self.path, 0o600)
        return raw

    def _commit(self) -> None:
        try:
            with _translated(self.path):
                self._writer.raw.execute("COMMIT")
        except MashError as error:
            error.details["outcome"] = "unknown"
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._writer.raw.in_transaction:
            self._writer.raw.execute("ROLLBACK")


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turn apsw's errors into ours, with the path and what to do."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"Another program holds {path}; nothing was saved. Retry.") from error
    except apsw.FullError as error:
        raise DiskFull(_disk_message(path)) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError) as error:
        raise ReadOnly(f"{path} cannot be written ({error}); nothing was saved.") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(f"{path} is damaged ({error}). Run `mash doctor`.") from error


def _disk_message(path: str) -> str:
    try:
        space = os.statvfs(os.path.dirname(path))
        free = f"{space.f_bavail * space.f_frsize} bytes free"
    except OSError:
        free = "free space unknown"
    return f"The disk is full at {path} ({free}); nothing was saved. Retry the same operation ID."
