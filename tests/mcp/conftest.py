"""A home with a daemon, and `mash mcp` spoken to over its real standard streams."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import end_processes_of

Json = dict[str, Any]


class Server:
    """One `mash mcp` process; every line it writes is checked to be JSON-RPC."""

    def __init__(self, environment: dict[str, str], folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mash_plugin", "mcp", *options],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.early: dict[object, Json] = {}

    def send(self, message: Json) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self, request_id: object) -> Json:
        """The answer to one request; others that come before it are kept."""
        assert self.process.stdout
        while request_id not in self.early:
            line = self.process.stdout.readline()
            assert line, (self.process.stderr and self.process.stderr.read()) or "the server ended"
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            self.early[message.get("id")] = message
        return self.early.pop(request_id)

    def ask(self, request_id: object, method: str, params: Json) -> Json:
        self.send({"id": request_id, "method": method, "params": params})
        return self.answer(request_id)

    def shake_hands(self, version: str, client: str) -> Json:
        """The handshake of 2025."""
        info = {"name": client, "version": "1"}
        params: Json = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        answer = self.ask("hello", "initialize", params)
        self.send({"method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: Json, **meta: object) -> Json:
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        answer = self.ask(f"call {tool}", "tools/call", params)
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    def close(self) -> int:
        """Leave as a client does: close its standard input."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(20)
        self.end()
        return code

    def end(self) -> None:
        """End it, whatever it does, and leave no pipe open."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            pipe.close()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    root = tmp_path_factory.mktemp("mcp")
    (root / "home").mkdir()
    yield {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "home"),
        "MASH_HOME": str(root / "mash"),
        "MASH_TESTING": "1",
    }
    end_processes_of(root / "mash")


@pytest.fixture
def open_server(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Server]]:
    opened: list[Server] = []

    def open_one() -> Server:
        opened.append(Server(environment, tmp_path))
        return opened[-1]

    yield open_one
    for server in opened:
        server.end()


@pytest.fixture(scope="module")
def server(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server for many tests, that has shaken hands as Codex does."""
    made = Server(environment, tmp_path_factory.mktemp("project"))
    made.shake_hands("2025-06-18", "codex-mcp-client")
    yield made
    made.end()
