"""One SQLite file through apsw: one writing connection, a reader for each thread."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import apsw

from mash_plugin.errors import DiskFull, MashError, ReadOnly, StoreBusy
from mash_plugin.store import reserve
from mash_plugin.store.connect import (
    BUSY_MS,
    connect,
    connect_exclusive,
    connect_frozen,
    set_pragmas,
)
from mash_plugin.store.connection import Connection as Connection
from mash_plugin.store.connection import Params as Params
from mash_plugin.store.connection import Row as Row
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.faults import disk_message, is_fatal, lost, translated
from mash_plugin.store.mark import Mark
from mash_plugin.store.readers import Readers

Durability = Literal["FULL", "NORMAL"]
Access = Literal["create", "existing", "exclusive", "frozen"]
TRUNCATE_MS = 100


class Database:
    """Owns one database file. `durability` FULL: an acknowledged write survives a power cut.

    `access`: "create" makes the file when it is missing; "existing" refuses one that is not
    ours; "exclusive" reads on a full disk, and takes writes again once there is room;
    "frozen" only reads and creates nothing. `problem` is why writes are refused, if they are.
    """

    def __init__(
        self,
        path: str,
        durability: Durability,
        *,
        access: Access = "create",
        problem: MashError | None = None,
        mark: Mark | None = None,
    ) -> None:
        self.path = path
        self.durability = durability
        self.mark = mark
        self.problem = problem
        self.commits = 0
        """How often this process has changed the file."""
        self.must_exit = False
        """A fault stopped writing: answer what can be read, then end this process."""
        self.is_unchecked = bool(mark and mark.was_left)
        """An unclean end came before, and the whole file has not been checked since."""
        self.check: threading.Thread | None = None
        """The check of the whole file after an unclean end, while it runs and after."""
        self.before_close: Callable[[], None] = lambda: None
        self.on_unclean: Callable[[], None] = lambda: None
        """Called when deleted text could not be scrubbed now: to be tried again soon."""
        self._access: Access = access
        self._readers = Readers(self._connect_reader)
        self._write_lock = threading.RLock()
        with translated(path):
            self._writer = Connection(self._open())
        self._frames: int | None = None
        self._writer.raw.set_wal_hook(self._count_frames)
        self._file = _identity(path)

    @contextmanager
    def writing(self, *, may_use_reserve: bool = False) -> Iterator[Connection]:
        """The writing connection inside BEGIN IMMEDIATE; commits, or rolls back on an error.

        Raises StoreBusy, DiskFull, ReadOnly or StoreDamaged: nothing was saved. A COMMIT that
        failed otherwise carries `details.outcome = "unknown"`: only a retry with the same
        operation ID can tell. `may_use_reserve` lets a deletion through on a full disk.
        """
        with self._write_lock:
            self._refuse_if_stopped()
            if may_use_reserve:
                reserve.release(self.path)
            connection = self._writer
            with self._guarded():
                connection.raw.execute("BEGIN IMMEDIATE")
            try:
                with self._guarded():
                    yield connection
            except BaseException:
                self._roll_back()
                raise
            self._commit()

    @contextmanager
    def synced(self) -> Iterator[None]:
        """Within, what this database commits is on disk at once, whatever its durability.

        For what nobody could make again, and for what another file is about to rely on.
        """
        with self._write_lock:
            self._writer.run("PRAGMA synchronous = FULL")
            try:
                yield
            finally:
                self._writer.run(f"PRAGMA synchronous = {self.durability}")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """This thread's reader, in one snapshot; inside another `reading`, in the same one."""
        if self._reads_through_writer():
            with self._write_lock, self._snapshot(self._writer):
                yield self._writer
        else:
            connection = self._readers.own()
            with self._snapshot(connection):
                yield connection

    def schema(self) -> int:
        """The file's schema, seen by the writer: it is asked for before there are readers."""
        with self._write_lock, self._guarded():
            row = self._writer.one("PRAGMA user_version")
        return int(row[0]) if row else 0

    def checkpoint(self, mode: Literal["PASSIVE", "TRUNCATE"]) -> None:
        """Move the write-ahead log into the file; the writer does all checkpoints.

        On a full disk the reserve is spent on it, and kept again as soon as there is room.
        """
        with self._write_lock:
            if self.problem:
                return
            self._frames = None  # the next write may begin the log anew
            with self._guarded():
                try:
                    self._writer.run(f"PRAGMA wal_checkpoint({mode})")
                except apsw.FullError:
                    if not reserve.release(self.path):
                        raise
                    self._writer.run(f"PRAGMA wal_checkpoint({mode})")
            if self.mark:
                reserve.keep(self.path)

    def scrub(self) -> bool:
        """Leave no byte of what was deleted in the file or its log.

        False when a reader still needs the log: nothing is lost, to be tried again soon.
        """
        from mash_plugin.store.scrub import zero_while_locked  # few processes forget anything

        failpoint("after_commit_before_scrub")
        start: int | None = 0
        while start is not None:
            with self._write_lock:
                if self.problem:
                    return False
                self._refuse_if_stopped()
                if not self._truncate_log():
                    return False
                failpoint("after_truncate_before_scrub")
                with self._guarded():
                    start = zero_while_locked(self._writer.raw, self.path, start)
        return True

    @property
    def is_displaced(self) -> bool:
        """The file was moved, deleted or replaced while open; the connections still read it."""
        return _identity(self.path) != self._file

    def stop(self, problem: MashError) -> None:
        """Take no more writes in this process; the next one checks the file before use."""
        self.problem, self.must_exit = problem, True
        if self.mark:
            # The mark stays behind in any case; the word in it only asks for the check sooner.
            with suppress(OSError):
                self.mark.suspect()

    def close(self) -> None:
        """Close every connection; the last one leaves no write-ahead log behind.

        After a fault nothing more is written: the log stays for the next process to read.
        """
        self.before_close()
        with self._write_lock:
            is_clean = not self.must_exit and not self.is_unchecked
            for raw in [*self._readers.take(), self._writer.raw]:
                try:
                    if self.must_exit:
                        raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                    raw.close()
                except apsw.Error:  # the last checkpoint; what it would have moved is in the log
                    is_clean = False
            if self.mark:
                self.mark.release(is_clean=is_clean)
                self.mark = None

    def _truncate_log(self) -> bool:
        """Whether the log is empty now; waits only a moment for readers, for writers wait too."""
        self._frames = None
        with self._guarded():
            self._writer.raw.set_busy_timeout(TRUNCATE_MS)
            try:
                row = self._writer.one("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._writer.raw.set_busy_timeout(BUSY_MS)
        return bool(row and row[0] == 0)

    def _open(self) -> apsw.Connection:
        match self._access:
            case "exclusive":
                return connect_exclusive(self.path)
            case "frozen":
                return connect_frozen(self.path)
            case _:
                return self._connect(may_create=self._access == "create")

    def _connect(self, *, may_create: bool = False) -> apsw.Connection:
        return connect(
            self.path,
            self.durability,
            may_create=may_create,
            must_be_ours=self._access == "existing",
        )

    def _connect_reader(self) -> apsw.Connection:
        with self._guarded():
            raw = self._connect()
            set_pragmas(raw, "query_only = ON")
        return raw

    def _reads_through_writer(self) -> bool:
        if self._access in ("exclusive", "frozen"):
            return True
        return not self._readers.has_own() and self.is_displaced

    @contextmanager
    def _snapshot(self, connection: Connection) -> Iterator[None]:
        if connection.raw.in_transaction:
            yield
            return
        with self._guarded():
            connection.raw.execute("BEGIN")
            try:
                yield
            finally:
                if connection.raw.in_transaction:  # an error may have ended it
                    connection.raw.execute("ROLLBACK")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with translated(self.path):
                yield
        except MashError as error:
            if is_fatal(error):
                self.stop(error)
            raise

    def _refuse_if_stopped(self) -> None:
        if self._access == "exclusive":
            self._thaw()
        elif self.problem is None and self.is_displaced:
            # Writes would go to a file that has no name any more, and be lost with the process.
            self.stop(lost(self.path))
        if self.problem:
            raise _again(self.problem)

    def _thaw(self) -> None:
        """Serve as usual again if the disk has room by now."""
        if self._writer.raw.in_transaction:  # this thread is inside `reading`
            return
        with suppress(DiskFull, ReadOnly):
            self._writer.raw.close()
            self._access = "existing"
            with translated(self.path):
                self._writer = Connection(self._open())
            self._writer.raw.set_wal_hook(self._count_frames)
            self.problem = None
            return
        self._access = "exclusive"
        with translated(self.path):
            self._writer = Connection(self._open())
        self.problem = DiskFull(disk_message(self.path))

    def _commit(self) -> None:
        try:
            with self._guarded():
                self._writer.raw.execute("COMMIT")
            self.commits += 1
        except StoreBusy:
            self._roll_back()
            raise
        except DiskFull as error:
            from mash_plugin.store.unsaved import is_undone  # no other COMMIT needs it

            self._roll_back()
            if is_undone(self._writer.raw, self._frames):
                raise
            raise DiskFull(disk_message(self.path, is_known=False), outcome="unknown") from error
        except MashError as error:
            error.details["outcome"] = "unknown"
            self._roll_back()
            raise

    def _count_frames(self, _raw: apsw.Connection, _name: str, frames: int) -> int:
        self._frames = frames
        return apsw.SQLITE_OK

    def _roll_back(self) -> None:
        if self._writer.raw.in_transaction:
            with suppress(apsw.Error):  # the first error is the one to tell
                self._writer.raw.execute("ROLLBACK")


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _again(problem: MashError) -> MashError:
    """The same problem for another caller, who has saved nothing."""
    details = {k: v for k, v in problem.details.items() if k != "outcome"}
    return type(problem)(problem.message, **details)
