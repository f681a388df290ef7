"""Real daemons and real hook processes over a home of their own."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mash_plugin import client, connecting, wire
from mash_plugin.paths import Paths, find_paths
from tests.support.polling import eventually
from tests.support.processes import daemons_of, end_processes_of

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / "hooks"
NAMES = ("session-start", "file-read", "prompt-submit", "reminder-timer")
CEILING_S = 20.0
"""Far over every deadline: a hook that reaches it hangs."""


@dataclass(frozen=True)
class Ran:
    """A hook process that ended."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    def is_harmless(self) -> bool:
        """Status 0, nothing on standard error, and valid or empty output."""
        if self.code or self.err:
            return False
        return not self.out or "hookSpecificOutput" in json.loads(self.out)


class Place:
    """One home with its environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.mash_home = root / "mash"
        self.children: list[subprocess.Popen[bytes]] = []
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "MASH_TESTING": "1",
            "MASH_HOME": str(self.mash_home),
        }

    @property
    def paths(self) -> Paths:
        return find_paths({"MASH_HOME": str(self.mash_home)})

    def start(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """A daemon of this home as a child of the test, once it serves."""
        child = self.launch(*options, **environment)
        eventually(lambda: self.is_served() or child.poll() is not None, "no daemon came up")
        assert child.poll() is None
        return child

    def launch(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """A daemon that may end at once: from idleness, or since another one serves."""
        child = subprocess.Popen(
            [sys.executable, "-I", "-m", "mash_plugin.daemon", *options],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.children.append(child)
        return child

    def is_served(self) -> bool:
        return self.served_by() is not None

    def served_by(self) -> int | None:
        """Who takes connections: for a moment a killed one too, that is no process any more."""
        connection = connecting.connect(self.paths, 5.0)
        if connection is None:
            return None
        with connection:
            return wire.peer_pid(connection)

    def call(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> Any:
        return client.call(method, params or {}, paths=self.paths, **options)

    def index(self) -> None:
        """Read the chats, and wait until that is done."""
        self.call("index")
        goes_on = "the index goes on"
        eventually(lambda: not self.call("index_progress")["running"], goes_on, every_s=0.01)

    def daemons(self) -> list[int]:
        return daemons_of(self.mash_home)

    def hook_command(self, name: str, agent: str = "claude-code") -> list[str]:
        return [sys.executable, "-I", "-S", str(HOOKS / name), agent, str(self.mash_home)]

    def hook(
        self,
        name: str,
        body: bytes | None = b"",
        *,
        agent: str = "claude-code",
        environment: Mapping[str, str] | None = None,
        stdin: int | None = None,
        before: Callable[[], None] | None = None,
    ) -> Ran:
        """Run one hook; a body of None leaves stdin open without end."""
        command = self.hook_command(name, agent)
        return run_hook(command, self.environment | dict(environment or {}), body, stdin, before)

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait(CEILING_S)
        end_processes_of(self.mash_home)


def run_hook(
    command: list[str],
    environment: Mapping[str, str],
    body: bytes | None = b"",
    stdin: int | None = None,
    before: Callable[[], None] | None = None,
) -> Ran:
    began = time.monotonic()
    child = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.PIPE if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=before,
    )
    if body is None:
        child.wait(CEILING_S)  # its stdin stays open all the while
        seconds = time.monotonic() - began
    out, err = child.communicate(body or None, timeout=CEILING_S)
    if body is not None:
        seconds = time.monotonic() - began
    return Ran(child.returncode, out, err, seconds)


def event(name: str, **fields: Any) -> bytes:
    """What a host writes to a hook's stdin."""
    body = {"session_id": "s-1", "cwd": "/", "hook_event_name": name, **fields}
    return json.dumps(body).encode()


SESSION_START = event("SessionStart", source="startup")


@contextmanager
def impostor(
    place: Place, answer: Callable[[socket.socket], None], backlog: int = 16
) -> Iterator[list[bytes]]:
    """Something else of this user that listens where the daemon should; the bytes it got."""
    run = Path(place.paths.run)
    run.mkdir(parents=True, mode=0o700, exist_ok=True)
    run.chmod(0o700)
    heard: list[bytes] = []
    before = os.getcwd()
    listener = socket.socket(socket.AF_UNIX)
    os.chdir(run)
    try:
        listener.bind("s.sock")
    finally:
        os.chdir(before)
    listener.listen(backlog)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                heard.append(connection.recv(1 << 16))
                answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(CEILING_S)
        Path(place.paths.socket).unlink(missing_ok=True)
