"""The ways to open a SQLite file: for service, for a full disk, and without touching anything."""

import os

import apsw

from mash_plugin.errors import StoreDamaged
from mash_plugin.file_opening import not_a_file

APPLICATION_ID = 0x6D617368  # "mash"
BUSY_MS = 2_000
LOG_BYTES = 16 << 20


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
