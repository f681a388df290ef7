"""End the daemon and wait until it has let go of the store."""

import fcntl
import os
import time
from contextlib import suppress

from mash_plugin.errors import DaemonUnavailable, MashError
from mash_plugin.paths import Paths

WAIT_S = 10.0
_POLL_S = 0.05


def stop_daemon(paths: Paths) -> None:
    """Ask a running daemon to end; raise DaemonUnavailable when it holds on for ten seconds."""
    from mash_plugin import client

    # Absent, deaf or of another version: only the lock tells whether one still lives.
    with suppress(MashError):
        client.call("stop", {}, start=False, paths=paths)
    deadline = time.monotonic() + WAIT_S
    while _is_locked(paths.daemon_lock):
        if time.monotonic() > deadline:
            raise DaemonUnavailable(
                "The daemon does not end; nothing was changed. Stop it with `mash daemon stop`."
            )
        time.sleep(_POLL_S)


def _is_locked(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
