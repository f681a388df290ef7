"""A workspace of its own for each test, and the commands as people run them."""

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mash_plugin.cli.main import run
from mash_plugin.cli.meaning_memory import PROGRAM, cli
from mash_plugin.throughline.artifacts import Source
from mash_plugin.throughline.database import FILE
from mash_plugin.throughline.settings import Settings, read_settings
from mash_plugin.throughline.tools import Place, Reply, call_tool
from tests.support import warm_starts

if TYPE_CHECKING:
    from tests.support.postgres import Server

NOW = 1_791_046_800_000
"""2026-10-03T17:00:00Z: an hour after the chat of the specification."""
CHAT = (Path(__file__).parent / "chat.jsonl").read_text()
AGENT, SESSION = "support-bot", "chat-7f3a"
SOURCE = Source(AGENT, SESSION, "telegram:dm", "chat")
OWN_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
Json = dict[str, Any]


@dataclass
class Result:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@dataclass
class Workspace:
    """One folder as workspace and configuration folder, and the commands run on it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    server: "Server | None" = None

    def rows(self, query: str = "SELECT * FROM mm_memories") -> list[tuple[Any, ...]]:
        """What the store holds, past every rule of who may see what."""
        if self.server is not None:
            return self.server.run(query)
        connection = sqlite3.connect(self.folder / FILE)
        try:
            with connection:
                return connection.execute(query).fetchall()
        finally:
            connection.close()

    @property
    def path(self) -> str:
        return str(self.folder)

    @property
    def settings(self) -> Settings:
        return read_settings(self.path, None, self.environment)

    @property
    def queued(self) -> list[Path]:
        return sorted((self.folder / "queue").glob("*.json"))

    def run(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        if self.server is not None and all(name.startswith("MM_") for name in environment):
            return self._run_here(arguments, stdin, environment)
        return self.run_process(*arguments, stdin=stdin, **environment)

    def run_process(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Result:
        """The command in a process of its own."""
        given = {"PATH": OWN_PATH, "LANG": warm_starts.LANG, "HOME": self.path}
        given |= self.environment | environment
        if warm_starts.can_run(given):
            here = Path.cwd()
            done = warm_starts.run(arguments, here, given, stdin, 60, "meaning-memory")
            return Result(*done)
        command = [sys.executable, "-m", "mash_plugin.cli.meaning_memory", *arguments]
        ended = subprocess.run(command, input=stdin, capture_output=True, timeout=60, env=given)
        return Result(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def _run_here(self, arguments: tuple[str, ...], stdin: bytes, more: dict[str, str]) -> Result:
        """The same in this process: the file backend shows that processes do it, too."""
        streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8") for data in (stdin, b"", b"")]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (self.environment | more).items():
                patch.setenv(name, value)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                patch.setattr(sys, name, stream)
            code = run(list(arguments), cli, PROGRAM)
        texts = []
        for stream in streams[1:]:
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return Result(code, *texts)

    def write(self, text: str | bytes, name: str = "chat.jsonl") -> str:
        path = self.folder.parent / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def capture(self, transcript: str, *more: str, session: str = SESSION, **env: str) -> Result:
        options = ("--agent", AGENT, "--session-id", session, "--channel", "telegram:dm")
        kind = ("--source-kind", "chat", "--transcript", transcript, "--config-dir", self.path)
        return self.run("capture-session", *options, *kind, *more, **env)

    def drain(self, agent: str = AGENT, **environment: str) -> Result:
        where = ("--workspace", self.path, "--config-dir", self.path)
        return self.run("consolidate", "--agent-id", agent, "--drain-only", *where, **environment)

    def start_drain(self) -> subprocess.Popen[bytes]:
        """A drain that runs on its own, to be killed."""
        options = ["--agent-id", AGENT, "--drain-only", "--config-dir", self.path]
        return subprocess.Popen(
            [sys.executable, "-m", "mash_plugin.cli.meaning_memory", "consolidate", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": self.path, **self.environment},
        )

    def call(self, tool: str, agent: str = AGENT, **arguments: Any) -> str:
        """The text that a tool answers with."""
        return self.ask(tool, agent, **arguments).text

    def ask(self, tool: str, agent: str = AGENT, **arguments: Any) -> Reply:
        """What a tool answers, asked in this process: quicker than a command for each."""
        now = int(self.environment["MM_TEST_NOW_MS"])
        return call_tool(tool, arguments, Place(agent, self.settings, now))


both = pytest.mark.parametrize("backend", ["file", "postgres"], indirect=True)
"""Run a test on SQLite and on a real Postgres server."""


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """One server for all tests, with an empty database named memory."""
    from tests.support.postgres import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """The file backend unless `both` says otherwise."""
    return str(getattr(request, "param", "file"))


@pytest.fixture
def workspace(tmp_path: Path, backend: str, request: pytest.FixtureRequest) -> Workspace:
    folder = tmp_path / "workspace"
    folder.mkdir()
    environment = {"MASH_TESTING": "1", "MM_TEST_NOW_MS": str(NOW), "MM_BACKEND": backend}
    workspace = Workspace(folder, environment)
    if backend == "postgres":
        workspace.server = request.getfixturevalue("postgres")
        workspace.server.use(folder, AGENT)
    return workspace


def lines_of(*messages: tuple[str, str]) -> str:
    """A transcript of (role, content)."""
    rows = ({"role": role, "content": content} for role, content in messages)
    return "".join(json.dumps(row) + "\n" for row in rows)
