"""Start the daemon where it is missing: one starter at a time, whoever comes first."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping

from mash_plugin.connecting import connect, forbidden, refuse_sandbox
from mash_plugin.errors import DaemonUnavailable, plain_reason
from mash_plugin.paths import Paths
from mash_plugin.syncing import make_private

START_S = 10.0
KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
FOR_TESTS = ("MASH_TESTING", "MASH_TEST_NOW_MS", "MASH_FAILPOINT")


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


def _take_gate(paths: Paths) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        make_private(paths.run)
        gate = os.open(paths.spawn_lock, flags, 0o600)
    except PermissionError as error:
        raise forbidden(error, paths) from error
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
