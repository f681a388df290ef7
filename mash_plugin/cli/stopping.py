"""End the daemon, also one that hangs, and wait until it has let go of the store."""

import fcntl
import os
import signal
import time
from contextlib import suppress

from mash_plugin import client, connecting, wire
from mash_plugin.errors import DaemonUnavailable, MashError, Sandboxed
from mash_plugin.paths import Paths

DEAF_AFTER_S = 2.0
END_S = 15.0
UNLOCK_S = 10.0
_POLL_S = 0.05


def free_store(paths: Paths) -> None:
    """End the daemon, and wait until none holds the store. Raises DaemonUnavailable if one does."""
    # Whatever the daemon answers, the lock alone tells whether one still lives.
    with suppress(MashError):
        end_daemon(paths)
    deadline = time.monotonic() + UNLOCK_S
    while _is_locked(paths.daemon_lock):
        if time.monotonic() > deadline:
            raise DaemonUnavailable(
                f"A mash daemon still holds {paths.daemon_lock}; end it by hand, then run this"
                " again."
            )
        time.sleep(_POLL_S)


def end_daemon(paths: Paths) -> None:
    """End the daemon and wait for it. Raises DaemonUnavailable when it cannot be ended."""
    witness = connecting.watch(paths, DEAF_AFTER_S)
    if witness is None:
        return
    pid = wire.peer_pid(witness)
    deadline = time.monotonic() + END_S
    try:
        client.call("stop", {}, start=False, timeout_s=DEAF_AFTER_S, paths=paths)
    except Sandboxed:
        witness.close()
        raise
    except MashError:
        if pid is not None and _holds_lock(paths, pid):
            _end_deaf(pid)
    if not connecting.wait_for_end(witness, deadline):
        raise DaemonUnavailable(f"The daemon (process {pid}) does not end; end it by hand.")


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


def _end_deaf(pid: int) -> None:
    """End a daemon that does not answer; the kernel named it, and it holds the lock."""
    for number, pause_s in ((signal.SIGTERM, 0.0), (signal.SIGCONT, 3.0), (signal.SIGKILL, 0.0)):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + pause_s
        while _is_alive(pid) and time.monotonic() < until:
            time.sleep(0.05)
        if not _is_alive(pid):
            return


def _holds_lock(paths: Paths, pid: int) -> bool:
    """Whether the kernel says that this process holds the lifetime lock (Linux; else never)."""
    try:
        inode = os.stat(paths.daemon_lock).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return False
    # 1: FLOCK  ADVISORY  WRITE 4021 fe:00:1234567 0 EOF
    return any(
        row[1] == "FLOCK" and row[4] == str(pid) and row[5].rpartition(":")[2] == str(inode)
        for row in rows
        if len(row) > 5
    )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
