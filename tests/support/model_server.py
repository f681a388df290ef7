"""The common part of the two scripted models: rules in, requests out, on loopback only."""

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
Step = dict[str, Any] | Callable[[Body], dict[str, Any]]


class ModelServer(ThreadingHTTPServer):
    """Answers by the rule whose pattern occurs in the newest prompt; keeps every request."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.rules: list[tuple[str, list[Step]]] = []
        self.bodies: list[Body] = []
        self.failures: list[str] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def when(self, pattern: str, *steps: Step) -> None:
        """Answer prompts that hold this pattern with one step for each call of the turn."""
        self.rules.insert(0, (pattern, list(steps)))

    def steps_for(self, prompt: str) -> list[Step] | None:
        return next((steps for pattern, steps in self.rules if re.search(pattern, prompt)), None)

    def keep(self, body: Body) -> None:
        with self._changed:
            self.bodies.append(body)
            self._changed.notify_all()

    def fail(self, problem: str) -> None:
        with self._changed:
            self.failures.append(problem)

    def wait_for(self, found: Callable[[Body], bool], timeout_s: float = 60) -> Body:
        """The first request of which this holds; raises TimeoutError with what came instead."""
        end = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for body in self.bodies:
                    if found(body):
                        return body
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise TimeoutError(f"{len(self.bodies)} requests, none as expected")

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class ModelHandler(BaseHTTPRequestHandler):
    """Reading and writing of JSON and server-sent events."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def read_json(self) -> Body:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    def send_json(self, status: int, value: object, with_body: bool = True) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data) if with_body else 0))
        self.end_headers()
        if with_body:
            self.wfile.write(data)

    def send_events(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for name, data in events:
                self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError):
            return  # the client ended or interrupted the turn

    def resolve(self, step: Step, body: Body) -> dict[str, Any]:
        """The step itself, or what it computes from the request that reached the model."""
        if not callable(step):
            return step
        try:
            return step(body)
        except Exception as error:  # the test shows why its script failed
            self.server.fail(f"{type(error).__name__}: {error}")
            return {"text": f"script failed: {error}"}

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Write no line for each request."""
