"""One daemon per store: the start protocol, in its exact order.

The kernel's lock is the truth, not a pid file and not the socket. A daemon takes the lifetime
lock, binds a name of its own, opens the store, and only then renames the socket into place.
"""

import _socket as socket  # socket imports selectors and builds enumerations: 2 ms
import fcntl
import os
import stat
import time
from contextlib import suppress
from typing import NamedTuple

from mash_plugin.errors import UnsafePlace
from mash_plugin.file_opening import not_a_file
from mash_plugin.paths import SOCKET_NAME, Paths
from mash_plugin.wire import PATH_LIMIT

BACKLOG = 256
REPLACEMENT_PAUSE_S = 60
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Identity(NamedTuple):
    """Which file a path named when we made it."""

    device: int
    inode: int


class Lock(NamedTuple):
    """The lifetime lock of the one daemon."""

    fd: int
    identity: Identity


def prepare_run_folder(run: str) -> None:
    """Make the run folder for its owner alone. Raises UnsafePlace when it is not."""
    os.makedirs(run, mode=0o700, exist_ok=True)
    found = os.lstat(run)
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafePlace(f"{run} must be a folder, not a link or a file; move it away.")
    if found.st_uid != os.getuid():
        raise UnsafePlace(f"{run} belongs to user {found.st_uid}, not to you; move it away.")
    if found.st_mode & 0o077:
        raise UnsafePlace(f"{run} is open to other users; close it with: chmod 700 '{run}'")


def take_lifetime_lock(paths: Paths, text: str) -> Lock | None:
    """The lock for as long as the process lives; None while another daemon has it."""
    while True:
        if kind := not_a_file(paths.daemon_lock):
            raise UnsafePlace(f"{paths.daemon_lock} is {kind}, not a regular file; move it away.")
        fd = os.open(paths.daemon_lock, _LOCK_FLAGS, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        identity = _identity(os.fstat(fd))
        if names(paths.daemon_lock, identity):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{text}\n".encode(), 0)  # for people; nothing trusts it
            return Lock(fd, identity)
        os.close(fd)  # somebody removed the file between our open and our lock


def bind_own_name(paths: Paths) -> tuple[socket.socket, Identity]:
    """A listening socket under a name that no client looks for yet."""
    for name in os.listdir(paths.run):
        if name.startswith(f"{SOCKET_NAME}."):
            os.unlink(os.path.join(paths.run, name))  # of a daemon that died while starting
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        own_name = _own_name(paths)
        if len(os.fsencode(own_name)) > PATH_LIMIT:
            # No other thread runs yet, so that the working directory is ours to change.
            os.chdir(paths.run)
            try:
                listener.bind(os.path.basename(own_name))
            finally:
                os.chdir("/")
        else:
            listener.bind(own_name)
        os.chmod(own_name, 0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        return listener, _identity(os.stat(own_name))
    except BaseException:
        listener.close()
        raise


def publish(paths: Paths) -> None:
    """Give the socket the name that clients look for; replaces a stale one."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(paths.socket).st_mode):
            raise UnsafePlace(f"{paths.socket} is not a socket of mash; move it away.")
    os.rename(_own_name(paths), paths.socket)


def names(path: str, identity: Identity) -> bool:
    """Whether the path still names that file."""
    try:
        return _identity(os.lstat(path)) == identity
    except OSError:
        return False


def withdraw(paths: Paths, identity: Identity) -> None:
    """Take the socket's name away, if it is still ours."""
    for path in (paths.socket, _own_name(paths)):
        if names(path, identity):
            with suppress(OSError):
                os.unlink(path)


def take_gate(paths: Paths) -> int | None:
    """Keep clients from starting another daemon while this one ends; None if one holds it."""
    try:
        fd = os.open(paths.spawn_lock, _LOCK_FLAGS, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def claim_hand_over(paths: Paths) -> bool:
    """Allow one hand-over to another version a minute, and remember it."""
    path = os.path.join(paths.run, "replaced")
    try:
        age_s = time.time() - os.stat(path).st_mtime
        if 0 <= age_s < REPLACEMENT_PAUSE_S:
            return False
    except OSError:
        pass
    with suppress(OSError):
        os.close(os.open(path, _LOCK_FLAGS, 0o600))
        os.utime(path)
    return True


def _own_name(paths: Paths) -> str:
    return f"{paths.socket}.{os.getpid()}"


def _identity(found: os.stat_result) -> Identity:
    return Identity(found.st_dev, found.st_ino)
