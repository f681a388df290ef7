"""The ways to open a SQLite file, for service, for a full disk, and without touching anything;
and the verbs over an open one.
"""

import math
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from mash_plugin.errors import StoreDamaged
from mash_plugin.file_opening import not_a_file

APPLICATION_ID = 0x6D617368  # "mash"
BUSY_MS = 2_000
LOG_BYTES = 16 << 20
QUERY_S = 2.0
"""How long a request may wait for the next row of a query; see `limited`."""
STEPS = 1_000_000
"""Instructions of SQLite between two looks at the clock: some hundredths of a second."""

Row = tuple[Any, ...]
Params = Mapping[str, Any]
_this_thread = threading.local()


@contextmanager
def limited() -> Iterator[None]:
    """Within, this thread's queries are broken off after QUERY_S, so that none wedges the daemon.

    They raise StoreBusy. What takes its time by nature (an export, a backup) runs without.
    """
    before = getattr(_this_thread, "is_limited", False)
    _this_thread.is_limited = True
    try:
        yield
    finally:
        _this_thread.is_limited = before


class Connection:
    """The verbs of the store over one apsw connection."""

    def __init__(self, raw: apsw.Connection) -> None:
        self.raw = raw
        # Nothing that leads back here: a connection that is let go of is closed at once.
        self._clock = _Clock()
        raw.set_progress_handler(self._clock.is_late, STEPS)

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """The first row, or None."""
        self._clock.start()
        return next(iter(self.raw.execute(sql, params or {})), None)

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        """Every row."""
        self._clock.start()
        return list(self.raw.execute(sql, params or {}))

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        """Every row, fetched as it is asked for."""
        self._clock.start()
        for row in self.raw.execute(sql, params or {}):
            yield row
            self._clock.start()

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute to the end; the number of rows changed."""
        self._clock.start()
        before = self.raw.total_changes()
        # A cursor that is not drained stops at the first row-returning statement (apsw).
        list(self.raw.execute(sql, params or {}))
        return self.raw.total_changes() - before

    def run_many(self, sql: str, rows: list[Params]) -> None:
        """Execute once for each row of parameters."""
        self._clock.start()
        self.raw.executemany(sql, rows)


class _Clock:
    """How long a query has waited for its next row."""

    def __init__(self) -> None:
        self._until = math.inf

    def start(self) -> None:
        self._until = time.monotonic() + QUERY_S

    def is_late(self) -> bool:
        return getattr(_this_thread, "is_limited", False) and time.monotonic() > self._until


def connect(
    path: str, durability: str, *, may_create: bool = False, must_be_ours: bool = False
) -> apsw.Connection:
    """A connection of the running service. Raises StoreDamaged for a file that is not ours.

    The file is private from its first byte; SQLite gives the log the same mode.
    """
    if may_create and not os.path.lexists(path):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    refuse_irregular(path)
    raw = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        raw.set_busy_timeout(BUSY_MS)
        if must_be_ours:
            refuse_foreign(raw, path)
        if not raw.readonly("main"):
            set_pragmas(raw, "journal_mode = WAL")
        set_pragmas(
            raw,
            f"synchronous = {durability}",
            # Checkpoints run off the request path: inside COMMIT they would blur its outcome.
            "wal_autocheckpoint = 0",
            # What a reader of hours has let it grow to is given back when the log begins anew.
            f"journal_size_limit = {LOG_BYTES}",
            "secure_delete = ON",
            "fullfsync = ON",  # macOS: fsync alone does not reach the platter
            "checkpoint_fullfsync = ON",
        )
        _distrust(raw)
    except BaseException:
        raw.close()
        raise
    return raw


def connect_exclusive(path: str) -> apsw.Connection:
    """The one reading connection on a full disk: an exclusive lock needs no shared memory file."""
    refuse_irregular(path)
    raw = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    raw.set_busy_timeout(BUSY_MS)
    set_pragmas(raw, "locking_mode = EXCLUSIVE")
    return _only_read(raw)


def connect_frozen(path: str) -> apsw.Connection:
    """The one reading connection where nothing may be created: no lock, no log, no -shm.

    Only for a file that nobody writes: a backup, a read-only file system, a stopped daemon.
    """
    refuse_irregular(path)
    if _size(path + "-wal"):
        # immutable=1 would leave the log out of account; without locks it is read from memory.
        raw = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY, vfs="unix-none")
        set_pragmas(raw, "locking_mode = EXCLUSIVE")
    else:
        raw = apsw.Connection(
            f"file:{_percent_escaped(path)}?immutable=1",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
    return _only_read(raw)


def connect_reading(path: str) -> apsw.Connection:
    """A look from another process, leaving no file behind; works beside a running daemon."""
    if not (os.path.exists(path + "-wal") or os.path.exists(path + "-shm")):
        return connect_frozen(path)
    refuse_irregular(path)
    raw = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    raw.set_busy_timeout(BUSY_MS // 10)
    return _only_read(raw)


def refuse_irregular(path: str) -> None:
    """Raise StoreDamaged for a pipe, which SQLite would wait for, a folder or a device."""
    if kind := not_a_file(path):
        raise StoreDamaged(
            f"{path} is {kind}, not a regular file; it was left as it is. Run `mash doctor`."
        )


def refuse_foreign(raw: apsw.Connection, path: str) -> None:
    """Raise StoreDamaged for an empty file or one that another program made."""
    (number,) = next(iter(raw.execute("PRAGMA application_id")))
    if number != APPLICATION_ID:
        what = "is empty" if not _size(path) else "was not made by mash"
        raise StoreDamaged(f"{path} {what}; it was left as it is. Run `mash doctor`.")


def _only_read(raw: apsw.Connection) -> apsw.Connection:
    raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    set_pragmas(raw, "query_only = ON")
    _distrust(raw)
    return raw


def _distrust(raw: apsw.Connection) -> None:
    raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    set_pragmas(raw, "foreign_keys = ON", "trusted_schema = OFF", "cell_size_check = ON")


def set_pragmas(raw: apsw.Connection, *pragmas: str) -> None:
    """Set each, and read what it says to the end."""
    for pragma in pragmas:
        # A cursor that is not drained stops at the first row-returning statement (apsw).
        list(raw.execute(f"PRAGMA {pragma}"))


def _percent_escaped(path: str) -> str:
    return "".join(f"%{b:02X}" if b in b"%?#" or b > 126 else chr(b) for b in os.fsencode(path))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
