"""Open files of mash that anybody may have put something else in place of."""

import errno
import os
import stat

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_file(path: str, flags: int) -> int:
    """Opener for `open`: a pipe without a writer would keep whoever opens it waiting for ever.

    Raises OSError for all that is no regular file.
    """
    handle = os.open(path, flags | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, f"is {_kind(mode)}, not a regular file", path)


def not_a_file(path: str) -> str | None:
    """What stands there instead of a regular file: "a pipe"; None for a file and for nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else _kind(mode)


def _kind(mode: int) -> str:
    return next((kind for is_one, kind in _KINDS if is_one(mode)), "something else")
