"""No room for what is to be written: a full disk, or a limit on the size of files."""

import os

_BESIDE = ("", "-wal", "-shm")
"""What SQLite writes: the file itself and what it keeps beside it."""
_NEAR = 64 << 10
"""More than SQLite writes at once."""


def limit_message(path: str, outcome: str, next_step: str) -> str:
    """Say that a file may not grow on, though the disk may have room."""
    return (
        f"{path} cannot take more: this process has a limit on the size of files (`ulimit -f`,"
        f" LimitFSIZE= of a systemd unit); {outcome}. Raise it and {next_step}."
    )


def is_at_limit(path: str) -> bool:
    """Whether that limit is what stopped SQLite, which does not tell it from other failures."""
    import resource  # only where something failed

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return False
    return max(_size(path + ending) for ending in _BESIDE) + _NEAR > limit


def free_bytes(path: str) -> int | None:
    """What this user may still write beside that file, or None where it cannot be told."""
    try:
        space = os.statvfs(os.path.dirname(path))
    except OSError:
        return None
    return space.f_bavail * space.f_frsize


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
