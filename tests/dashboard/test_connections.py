"""Whoever only holds connections keeps nobody out for long."""

import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mash_plugin.dashboard.address import listen
from mash_plugin.dashboard.connections import Connection
from mash_plugin.dashboard.guard import HEADERS
from mash_plugin.dashboard.server import MOST_CONNECTIONS, configured
from tests.support.dashboards import Dashboard

MOST = 4
MANY, BATCH = 10_000, 250
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
BEGUN = b"GET / HTTP/1.1\r\nHost: "


class Hasty(Connection):
    silent_s = 0.3


class Patient(Connection):
    silent_s = 300.0


class Slow:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Semaphore(0), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            self.asked.release()
            await run_in_threadpool(self.may_answer.wait, 20)
        await PlainTextResponse("told")(scope, receive, send)


@pytest.fixture
def app() -> Slow:
    return Slow()


@pytest.fixture
def port(app: Slow) -> Iterator[int]:
    with served(app, Hasty) as found:
        yield found


@pytest.fixture
def patient(app: Slow) -> Iterator[int]:
    with served(app, Patient) as found:
        yield found


@contextmanager
def served(app: Slow, connection: type[Connection]) -> Iterator[int]:
    """A server of few places in this process; its port."""
    sockets = listen(0)
    server = uvicorn.Server(configured(app, connection, MOST))
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


def ask(port: int) -> HTTPResponse:
    """The answer to one request of a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/", headers={"Connection": "close"})
    answer = connection.getresponse()
    answer.read()
    return answer


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
    assert app.asked.acquire(timeout=20)
    assert rest_of(connect(port)) == b""  # one that came later is closed by now
    app.may_answer.set()
    assert waiting.getresponse().read() == b"told"
    waiting.close()


@pytest.mark.spec("R-166")
def test_connections_that_say_nothing_make_room_for_whoever_comes(patient: int) -> None:
    held = [connect(patient) for _ in range(MOST * 3)]
    assert ask(patient).status == 200
    # The oldest had to go; the newest may still speak.
    assert [rest_of(one) for one in held[: MOST * 2 + 1]] == [b""] * (MOST * 2 + 1)
    held[-1].sendall(LAST)
    assert rest_of(held[-1]).startswith(b"HTTP/1.1 200")
    for one in held:
        one.close()


@pytest.mark.spec("R-166")
def test_one_too_many_is_told_so_while_all_others_wait_for_answers(port: int, app: Slow) -> None:
    slow = LAST.replace(b"GET /", b"GET /slow")
    held = [connect(port, slow) for _ in range(MOST - 1)]
    assert all(app.asked.acquire(timeout=20) for _ in held)
    answer = ask(port)
    assert (answer.status, answer.headers["cache-control"]) == (503, "no-store")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    app.may_answer.set()
    assert [rest_of(one).split(b" ")[1] for one in held] == [b"200"] * (MOST - 1)
    assert ask(port).status == 200


@pytest.mark.spec("R-166")
@pytest.mark.parametrize(
    "said",
    [b"BREW\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET / HTTP/1.1\r\nHost a\r\n\r\n"],
)
def test_what_is_no_http_is_answered_with_the_headers_of_every_answer(
    port: int, said: bytes
) -> None:
    head, _, body = rest_of(connect(port, said)).partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 400 Bad Request"
    found = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    assert {name: found[name.lower()] for name in HEADERS} == HEADERS
    assert body == b"Invalid HTTP request received."


@pytest.mark.spec("R-166")
def test_what_is_no_http_ends_the_connection_also_in_the_middle_of_an_answer(
    port: int, app: Slow
) -> None:
    connection = connect(
        port, b"POST /slow HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert app.asked.acquire(timeout=20)
    connection.sendall(b"no length\r\n")
    assert rest_of(connection) == b""
    app.may_answer.set()
    assert ask(port).status == 200


@pytest.mark.spec("R-166")
@pytest.mark.row(65)
def test_ten_thousand_connections_take_few_descriptors_and_keep_nobody_out(
    dash: Dashboard, cookie: str
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < MANY + 500:
        pytest.skip("this user may not open as many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, MANY + 500), hard))
    folder = Path(f"/proc/{dash.process.pid}/fd")
    with ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(MANY // BATCH):
            for number in range(BATCH):
                said = BEGUN if number % 2 else b""
                held.callback(connect(dash.port, said).close)
            assert dash.get("/memory", cookie=cookie).status == 200
            if folder.exists():
                assert len(list(folder.iterdir())) < MOST_CONNECTIONS * 2
        assert "Qdrant" in dash.get("/memory", cookie=cookie).text
