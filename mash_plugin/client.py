"""Call the daemon's methods, and start it where it is missing."""

import errno
import fcntl
import os
import select
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from mash_plugin import wire
from mash_plugin.errors import (
    DaemonUnavailable,
    MashError,
    Sandboxed,
    TooLarge,
    UnsafePlace,
    UpgradeNeeded,
    plain_reason,
)
from mash_plugin.paths import Paths, find_paths

START_S = 10.0
REPLY_LIMIT = 64 << 20
LEASE_PAUSE_S = 2.0
TRIES, GONE_S = 12, 0.005
"""How often one daemon that has ended is met again, and the growing pause between."""
KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
FOR_TESTS = ("MASH_TESTING", "MASH_TEST_NOW_MS", "MASH_FAILPOINT")


class _Gone(Exception):
    """The daemon closed before its reply."""


def call(
    method: str,
    params: Mapping[str, Any],
    *,
    timeout_s: float = 30.0,
    caller: Mapping[str, Any] | None = None,
    start: bool = True,
    paths: Paths | None = None,
) -> dict[str, Any]:
    """The result of one method. Raises the daemon's own error, or why it cannot be asked.

    A daemon that closes before its reply is asked once more, with the same request: the
    operation ID keeps that from being done twice. An older daemon is asked to make room.
    """
    paths = paths or find_paths(os.environ)
    deadline = time.monotonic() + timeout_s
    line = wire.request_line(method, params, _with_test_time(caller))
    if len(line) > wire.TOOL_LIMIT:
        raise TooLarge(f"The request is over {wire.TOOL_LIMIT} bytes; send less.")
    try:
        return _ask(line, paths, deadline, start=start)
    except UpgradeNeeded as error:
        theirs = error.details.get("protocol")
        if not isinstance(theirs, int) or theirs >= wire.PROTOCOL or not start:
            raise
        _make_room(paths, deadline)
        return _ask(line, paths, deadline, start=True)


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
        raise _forbidden(error, paths) from error
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
                raise _forbidden(error, paths) from error
            case BlockingIOError():
                raise DaemonUnavailable("The mash daemon is too busy; try again.") from error
            case OSError():
                raise DaemonUnavailable(
                    f"The mash daemon cannot be reached: {plain_reason(error)}."
                ) from error
        raise
    return connection


def start_daemon(paths: Paths, timeout_s: float = START_S) -> socket.socket:
    """A connection to the daemon, started if it is missing; one starter at a time.

    Raises DaemonUnavailable when it does not come up, Sandboxed where sockets are forbidden.
    """
    deadline = time.monotonic() + timeout_s
    refuse_sandbox()
    gate: int | None = None
    child: subprocess.Popen[bytes] | None = None
    try:
        while (connection := connect(paths, timeout_s)) is None:
            if time.monotonic() > deadline:
                raise DaemonUnavailable(f"The mash daemon does not start; see {paths.log}.")
            if gate is None:
                gate = _take_gate(paths)
                if gate is not None:
                    continue  # another one may have started it meanwhile
            elif child is None:
                child = _spawn(paths)
            elif _has_ended(child, paths):
                child = None  # it met a daemon that was on its way out
            time.sleep(0.005)
        return connection
    finally:
        if gate is not None:
            os.close(gate)
        if child is not None:
            _leave(child)


def refuse_sandbox() -> None:
    """Raise Sandboxed where sockets are forbidden: a daemon started there could not listen."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(f"{os.devnull}/mash")
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Sandboxed from error


def daemon_command() -> list[str]:
    """How the daemon is started: with this interpreter, of this version even after an upgrade."""
    folder, name = os.path.split(sys.executable)
    prefix = os.path.dirname(folder)
    if os.path.islink(prefix):
        folder = os.path.join(os.path.realpath(prefix), os.path.basename(folder))
    return [os.path.join(folder, name), "-I", "-m", "mash_plugin.daemon"]


def daemon_environment(paths: Paths, environ: Mapping[str, str]) -> dict[str, str]:
    """Little of the caller's environment: it may hold keys that the daemon must not have."""
    names = KEPT + (FOR_TESTS if environ.get("MASH_TESTING") == "1" else ())
    kept = {name: environ[name] for name in names if name in environ}
    return kept | ({"MASH_HOME": paths.home} if paths.home else {})


@contextmanager
def lease(paths: Paths) -> Iterator[None]:
    """Keep the daemon alive for as long as the block runs, and after it was restarted."""
    is_over = threading.Event()
    held = [start_daemon(paths)]
    thread = threading.Thread(target=_keep_lease, args=(paths, held, is_over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        for connection in held.copy():  # the thread takes ended ones out
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join(LEASE_PAUSE_S)


def _keep_lease(paths: Paths, held: list[socket.socket], is_over: threading.Event) -> None:
    while not is_over.is_set():
        for connection in list(held):
            with suppress(OSError), connection:
                connection.settimeout(None)
                connection.sendall(wire.LEASE_LINE)
                connection.recv(1)  # until that daemon ends, or the block
            held.remove(connection)
        if is_over.wait(LEASE_PAUSE_S):
            return
        with suppress(MashError):
            # Not started again: whoever stopped it meant it; the next call starts it.
            found = connect(paths, 1.0)
            if found is not None:
                held.append(found)


def _ask(line: bytes, paths: Paths, deadline: float, *, start: bool) -> dict[str, Any]:
    gone: int | None = None  # the daemon that was asked first, and ended
    for tries in range(TRIES):
        try:
            connection = _open(paths, deadline, start=start)
        except MashError as error:
            if tries:  # what the first one was asked may have been done
                error.details["outcome"] = "unknown"
            raise
        pid = wire.peer_pid(connection)
        try:
            return wire.read_reply(_exchange(connection, line, deadline))
        except _Gone:
            if tries and (pid is None or pid != gone):
                break
            # A killed process lets go of its connections before its listener: it may be met again.
            gone = pid
            time.sleep(GONE_S * tries)
        finally:
            connection.close()
    raise DaemonUnavailable(
        "The mash daemon ended before its reply: whether it was done is not known."
        " Retry the same operation ID.",
        outcome="unknown",
    )


def _open(paths: Paths, deadline: float, *, start: bool) -> socket.socket:
    left_s = max(deadline - time.monotonic(), 0.01)
    connection = connect(paths, left_s)
    if connection:
        return connection
    if not start:
        raise DaemonUnavailable("The mash daemon is not running; start it: mash daemon start")
    return start_daemon(paths, min(left_s, START_S))


def _exchange(connection: socket.socket, line: bytes, deadline: float) -> bytes:
    """The reply line. Raises _Gone, or DaemonUnavailable at the deadline."""
    reply = bytearray()
    try:
        # Refused requests are answered before they were read whole.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(line)
        while not reply.endswith(b"\n"):
            connection.settimeout(max(deadline - time.monotonic(), 0.01))
            chunk = connection.recv(1 << 16)
            reply += chunk
            if not chunk:
                raise _Gone
            if len(reply) > REPLY_LIMIT:
                raise DaemonUnavailable(
                    f"The mash daemon's reply is over {REPLY_LIMIT} bytes; ask for less."
                    " Whether anything was saved is not known: retry the same operation ID.",
                    outcome="unknown",
                )
    except TimeoutError as error:
        raise DaemonUnavailable(
            "The mash daemon does not answer; `mash daemon restart` starts a new one."
            " Retry the same operation ID.",
            outcome="unknown",
        ) from error
    except (BrokenPipeError, ConnectionResetError) as error:
        raise _Gone from error
    return bytes(reply)


def _make_room(paths: Paths, deadline: float) -> None:
    """Ask an older daemon to end, and wait until it has. Raises UpgradeNeeded when it will not."""
    witness, connection = watch(paths, 2.0), connect(paths, 2.0)
    if witness is None or connection is None:
        return
    with connection:
        wire.read_reply(_exchange(connection, _drain_line(), deadline))
    wait_for_end(witness, deadline)


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


def _drain_line() -> bytes:
    return wire.request_line("drain", {"protocol": wire.PROTOCOL})


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


_folder_lock = threading.Lock()


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


def _forbidden(error: OSError, paths: Paths) -> MashError:
    if error.errno == errno.EPERM:
        return Sandboxed()
    return UnsafePlace(
        f"{paths.socket} may not be opened ({plain_reason(error)}); see `mash doctor`."
    )


def _take_gate(paths: Paths) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.makedirs(paths.run, mode=0o700, exist_ok=True)
        gate = os.open(paths.spawn_lock, flags, 0o600)
    except PermissionError as error:
        raise _forbidden(error, paths) from error
    except OSError as error:
        raise DaemonUnavailable(f"{paths.run} cannot be used: {plain_reason(error)}.") from error
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(gate)
        return None
    return gate


def _spawn(paths: Paths) -> subprocess.Popen[bytes]:
    """Start it detached: no terminal, no folder and no descriptor of ours is held."""
    return subprocess.Popen(
        daemon_command(),
        env=daemon_environment(paths, os.environ),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        close_fds=True,
    )


def _has_ended(child: subprocess.Popen[bytes], paths: Paths) -> bool:
    """Whether it left quietly. Raises DaemonUnavailable with its last words when it failed."""
    if child.poll() is None:
        return False
    said = child.communicate()[1].decode(errors="replace")
    if child.returncode:
        raise DaemonUnavailable(_why_not(said, paths))
    return True


def _leave(child: subprocess.Popen[bytes]) -> None:
    """Let the daemon live on; a thread sees its end, should it come before ours."""
    if child.stderr:
        child.stderr.close()
    threading.Thread(target=child.wait, daemon=True).start()


def _why_not(said: str, paths: Paths) -> str:
    last = said.strip().rpartition("\n")[2].removeprefix("mash: ")
    return f"The mash daemon does not start: {last or f'see {paths.log}'}"


def _with_test_time(caller: Mapping[str, Any] | None) -> dict[str, Any]:
    body = dict(caller or {})
    if os.environ.get("MASH_TESTING") == "1" and "MASH_TEST_NOW_MS" in os.environ:
        body.setdefault("now_ms", os.environ["MASH_TEST_NOW_MS"])
    return body
