"""`mash mcp` spoken to over its real standard streams, as an agent does."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class Server:
    """One `mash mcp` process; every line it writes is checked to be JSON-RPC."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        *options: str,
        mash: Sequence[str] = (sys.executable, "-m", "mash_plugin"),
    ) -> None:
        self.process = subprocess.Popen(
            [*mash, "mcp", *options],
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


@contextmanager
def greeted(
    environment: Mapping[str, str],
    folder: Path,
    mash: Sequence[str] = (sys.executable, "-m", "mash_plugin"),
) -> Iterator[Server]:
    """A server that has shaken hands, until the block ends."""
    server = Server(environment, folder, mash=mash)
    try:
        assert "result" in server.shake_hands("2025-06-18", "a test")
        yield server
        server.close()
    finally:
        server.end()
