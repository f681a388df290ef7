"""What SQLite's errors mean for the person: which of ours, what was saved, what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from mash_plugin.errors import (
    DiskFull,
    Internal,
    MashError,
    ReadOnly,
    StoreBusy,
    StoreDamaged,
    plain_reason,
)

SHM_FULL = apsw.SQLITE_IOERR_SHMSIZE
"""4874: no room for the shared memory file. It hits readers too, on a full disk after a crash."""

_AGAIN = "retry the same operation ID"
_FSYNC = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn apsw's errors into ours, with the path and what to do."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"Another program holds {path}; nothing was saved. Retry.") from error
    except apsw.InterruptError as error:
        raise StoreBusy(
            f"A look into {path} took too long and was broken off; nothing was saved."
            " Ask for less at a time, or retry when the machine is less busy."
        ) from error
    except apsw.FullError as error:
        raise DiskFull(disk_message(path)) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError) as error:
        raise ReadOnly(
            f"{path} cannot be written ({plain_reason(error)}); nothing was saved."
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(
            f"{path} is damaged ({plain_reason(error)}). Run `mash doctor`."
        ) from error
    except (apsw.IOError, apsw.NoMemError) as error:
        number = getattr(error, "extendedresult", 0)
        if number == SHM_FULL or (number == apsw.SQLITE_IOERR_WRITE and _is_at_limit(path)):
            raise DiskFull(f"{disk_message(path)} (SQLite {number})") from error
        raise Internal(
            f"{path}: {error} (SQLite {number}). Retry the same operation ID."
        ) from error


@contextmanager
def translated_files(path: str) -> Iterator[None]:
    """Turn the errors of files and folders around a database into ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(disk_message(path)) from error
        if error.errno == errno.EFBIG:
            raise DiskFull(_limit_message(path, "nothing was saved")) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise ReadOnly(
                f"{path} cannot be written ({plain_reason(error)}); nothing was saved."
            ) from error
        raise Internal(
            f"{path} cannot be used ({plain_reason(error)}). Nothing was saved."
        ) from error


def is_fatal(error: MashError) -> bool:
    """Whether writing must stop: the file is damaged, or an fsync failed.

    After a failed fsync the kernel may have dropped the pages and report success the next
    time, so it is never retried: the file is closed and read afresh by the next process.
    """
    cause = error.__cause__
    if isinstance(cause, apsw.IOError):
        return getattr(cause, "extendedresult", 0) in _FSYNC
    return isinstance(cause, (apsw.CorruptError, apsw.NotADBError))


def lost(path: str) -> StoreDamaged:
    """The file went away under an open connection."""
    return StoreDamaged(
        f"{path} was moved, deleted or replaced while open; nothing was saved. Run `mash doctor`."
    )


def disk_message(path: str, *, is_known: bool = True) -> str:
    """Say that the disk is full, where, and how much is free; or which limit was met."""
    from mash_plugin.store.room import free_bytes

    outcome = "nothing was saved" if is_known else "it is not known whether it was saved"
    if _is_at_limit(path):
        return _limit_message(path, outcome)
    free = free_bytes(path)
    amount = "free space unknown" if free is None else f"{free} bytes free"
    return f"The disk is full at {path} ({amount}); {outcome}. Free some space and {_AGAIN}."


def _is_at_limit(path: str) -> bool:
    from mash_plugin.store.room import is_at_limit  # not on the way of what succeeds

    return is_at_limit(path)


def _limit_message(path: str, outcome: str) -> str:
    from mash_plugin.store.room import limit_message

    return limit_message(path, outcome, _AGAIN)
