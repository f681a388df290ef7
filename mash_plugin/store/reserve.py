"""A megabyte kept beside the store: a full disk still lets a checkpoint or a forget through."""

import os

SIZE = 1 << 20
_BLOCK = bytes(1 << 16)
# A pipe in its place is not waited for.
_FLAGS = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def reserve_of(database_path: str) -> str:
    """Where the reserve of that database lies."""
    return database_path + "-reserve"


def keep(database_path: str) -> bool:
    """Make the reserve unless it is there; False where there is no room for it."""
    path = reserve_of(database_path)
    try:
        if os.stat(path).st_size >= SIZE:
            return True
    except OSError:
        pass
    try:
        fd = os.open(path, _FLAGS, 0o600)
    except OSError:
        return False
    try:
        # Written out, not left as a hole: a hole reserves nothing.
        for _ in range(SIZE // len(_BLOCK)):
            if os.write(fd, _BLOCK) < len(_BLOCK):
                break
        else:
            return True
    except OSError:
        pass
    finally:
        os.close(fd)
    release(database_path)
    return False


def release(database_path: str) -> bool:
    """Give the reserve's space back to the disk; False when there was none."""
    try:
        os.unlink(reserve_of(database_path))
    except OSError:
        return False
    return True
