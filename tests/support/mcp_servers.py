"""`mash mcp` spoken to over its real standard streams, as an agent does."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import warm_starts

Json = dict[str, Any]


class Forked:
    """A server as a fork of a process that has imported it, used as `subprocess.Popen` is."""

    def __init__(
        self, environment: Mapping[str, str], folder: Path, options: Sequence[str]
    ) -> None:
        (given, write), (read, out), (told, err) = os.pipe(), os.pipe(), os.pipe()
        self._started = warm_starts.start_server([given, out, err], options, folder, environment)
        for theirs in (given, out, err):
            os.close(theirs)
        self.stdin, self.stdout = os.fdopen(write, "wb"), os.fdopen(read, "rb")
        self.stderr = os.fdopen(told, "rb")
        self.pid = self._started.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._started.has_ended():
            self.wait()
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        if self.returncode is None:
            self.returncode = self._started.wait(timeout)
        return self.returncode

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        if self.returncode is None and not self._started.has_ended():
            os.kill(self.pid, number)


class Server:
    """One `mash mcp` process; every line it writes is checked to be JSON-RPC."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        *options: str,
        mash: Sequence[str] = (),
    ) -> None:
        """Start it by the words of a command, or have it forked, which takes a tenth of that."""
        self.process: Forked | subprocess.Popen[bytes]
        if mash:
            self.process = subprocess.Popen(
                [*mash, "mcp", *options],
                env=environment,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        else:
            self.process = Forked(environment, folder, options)
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
    mash: Sequence[str] = (),
) -> Iterator[Server]:
    """A server that has shaken hands, until the block ends."""
    server = Server(environment, folder, mash=mash)
    try:
        assert "result" in server.shake_hands("2025-06-18", "a test")
        yield server
        server.close()
    finally:
        server.end()
