"""Whoever only holds connections keeps nobody out for long."""

import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mash_plugin.dashboard.address import listen
from mash_plugin.dashboard.connections import Connection
from mash_plugin.dashboard.guard import HEADERS
from mash_plugin.dashboard.server import configured

MOST = 4
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
BEGUN = b"GET / HTTP/1.1\r\nHost: "


class Hasty(Connection):
    silent_s = 0.3


class Slow:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            self.asked.set()
            await run_in_threadpool(self.may_answer.wait, 20)
        await PlainTextResponse("told")(scope, receive, send)


@pytest.fixture
def app() -> Slow:
    return Slow()


@pytest.fixture
def port(app: Slow) -> Iterator[int]:
    sockets = listen(0)
    server = uvicorn.Server(configured(app, Hasty, MOST))
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    yield sockets[0].getsockname()[1]
    server.should_exit = True
    app.may_answer.set()
    thread.join(20)


def connect(port: int, said: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 20)
    connection.sendall(said)
    return connection


def rest_of(connection: socket.socket) -> bytes:
    """Everything until the other side closes it."""
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.spec("R-166")
@pytest.mark.parametrize("said", [b"", BEGUN])
@pytest.mark.row(65)
def test_a_connection_without_a_whole_request_is_closed(port: int, said: bytes) -> None:
    assert rest_of(connect(port, said)) == b""


@pytest.mark.spec("R-166")
def test_a_second_request_that_does_not_end_is_closed_too(port: int) -> None:
    told = rest_of(connect(port, REQUEST + BEGUN))
    assert told.count(b"HTTP/1.1 200") == 1


@pytest.mark.spec("R-166")
def test_an_answer_that_takes_longer_than_that_still_comes(port: int, app: Slow) -> None:
    waiting = HTTPConnection("127.0.0.1", port, timeout=20)
    waiting.request("GET", "/slow")
    assert app.asked.wait(20)
    assert rest_of(connect(port)) == b""  # one that came later is closed by now
    app.may_answer.set()
    assert waiting.getresponse().read() == b"told"
    waiting.close()


@pytest.mark.spec("R-166")
def test_connections_that_say_nothing_keep_others_out_only_until_they_are_closed(port: int) -> None:
    held = [connect(port) for _ in range(MOST)]
    full = HTTPConnection("127.0.0.1", port, timeout=20)
    full.request("GET", "/")
    answer = full.getresponse()
    assert (answer.status, answer.headers["cache-control"]) == (503, "no-store")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    full.close()
    assert [rest_of(one) for one in held] == [b""] * MOST
    again = HTTPConnection("127.0.0.1", port, timeout=20)
    again.request("GET", "/")
    assert again.getresponse().status == 200
    again.close()
