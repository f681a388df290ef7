"""Reach the socket of this user's daemon, and nobody else's."""

import errno
import os
import select
import socket
import stat
import threading
import time
from contextlib import suppress

from mash_plugin import wire
from mash_plugin.errors import DaemonUnavailable, MashError, Sandboxed, UnsafePlace, plain_reason
from mash_plugin.paths import Paths

_folder_lock = threading.Lock()


def connect(paths: Paths, timeout_s: float) -> socket.socket | None:
    """A connection to this user's daemon, None where none listens.

    Raises Sandboxed, UnsafePlace, or DaemonUnavailable where one does not answer.
    """
    try:
        _refuse_unsafe(paths)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise forbidden(error, paths) from error
    try:
        connection.setblocking(False)  # a full queue says so at once
        _connect(connection, paths)
        connection.settimeout(max(timeout_s, 0.01))
        if wire.peer_uid(connection) != os.getuid():
            raise UnsafePlace(f"Another user's process listens at {paths.socket}.")
    except BaseException as error:
        connection.close()
        match error:
            case FileNotFoundError() | ConnectionRefusedError():
                return None
            case PermissionError():
                raise forbidden(error, paths) from error
            case BlockingIOError():
                raise DaemonUnavailable("The mash daemon is too busy; try again.") from error
            case OSError():
                raise DaemonUnavailable(
                    f"The mash daemon cannot be reached: {plain_reason(error)}."
                ) from error
        raise
    return connection


def watch(paths: Paths, timeout_s: float) -> socket.socket | None:
    """A connection that ends with the daemon's process, None where none runs."""
    witness = connect(paths, timeout_s)
    if witness is not None:
        with suppress(OSError):
            witness.sendall(wire.LEASE_LINE)
    return witness


def wait_for_end(witness: socket.socket, deadline: float) -> bool:
    """Wait until the daemon that is watched has ended; whether it has."""
    with witness:
        left_ms = max(int((deadline - time.monotonic()) * 1000), 1)
        poller = select.poll()
        poller.register(witness, select.POLLIN | select.POLLHUP)
        return bool(poller.poll(left_ms))


def refuse_sandbox() -> None:
    """Raise Sandboxed where sockets are forbidden: a daemon started there could not listen."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(f"{os.devnull}/mash")
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Sandboxed from error


def forbidden(error: OSError, paths: Paths) -> MashError:
    """Why the socket may not be opened: a sandbox says EPERM, permissions say EACCES."""
    if error.errno == errno.EPERM:
        return Sandboxed()
    return UnsafePlace(
        f"{paths.socket} may not be opened ({plain_reason(error)}); see `mash doctor`."
    )


def _refuse_unsafe(paths: Paths) -> None:
    """Raise UnsafePlace unless the run folder is ours alone and the socket is a socket."""
    folder = os.lstat(paths.run)
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid():
        raise UnsafePlace(f"{paths.run} must be a folder of your own; move it away.")
    if folder.st_mode & 0o077:
        raise UnsafePlace(
            f"{paths.run} is open to other users; close it with: chmod 700 '{paths.run}'"
        )
    if not stat.S_ISSOCK(os.lstat(paths.socket).st_mode):
        raise UnsafePlace(f"{paths.socket} is not a socket of mash; move it away.")


def _connect(connection: socket.socket, paths: Paths) -> None:
    if len(os.fsencode(paths.socket)) <= wire.PATH_LIMIT:
        connection.connect(paths.socket)
        return
    with _folder_lock:  # the working directory belongs to the whole process
        before = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.chdir(paths.run)
            connection.connect(os.path.basename(paths.socket))
        finally:
            os.fchdir(before)
            os.close(before)
