"""Who gets in: this machine's browser with the key of the terminal, and nobody else."""

import os
import pty
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.dashboards import Answer, Dashboard, dashboard
from tests.support.demo_memory import Demo

DATA = "Qdrant"


def refused(answer: Answer, *statuses: int) -> bool:
    """Whether it has one of these statuses and tells nothing that is remembered."""
    return answer.status in statuses and DATA not in answer.text


@pytest.mark.spec("R-166")
@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "0.0.0.0:{port}",
    ],
)
@pytest.mark.row(65)
def test_another_host_sees_nothing_even_with_the_cookie(
    dash: Dashboard, cookie: str, host: str | None
) -> None:
    sent = host and host.format(port=dash.port)
    assert refused(dash.get("/memory", cookie=cookie, host=sent), 400, 403)


@pytest.mark.spec("R-166")
@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_the_names_of_this_machine_are_let_in(dash: Dashboard, cookie: str, name: str) -> None:
    answer = dash.get("/memory", cookie=cookie, host=f"{name}:{dash.port}")
    assert answer.status == 200
    assert DATA in answer.text


@pytest.mark.spec("R-166")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "https://127.0.0.1:{port}"},
        {"origin": "http://localhost:{port}"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
@pytest.mark.row(65)
def test_another_page_sees_nothing_even_with_the_cookie(
    dash: Dashboard, cookie: str, headers: dict[str, str]
) -> None:
    sent = {name: value.format(port=dash.port) for name, value in headers.items()}
    assert refused(dash.get("/memory", cookie=cookie, **sent), 403)


@pytest.mark.spec("R-166")
@pytest.mark.row(65)
def test_without_the_cookie_nothing_is_shown_and_nothing_is_told_of_what_is_there(
    dash: Dashboard, demo: Demo, cookie: str
) -> None:
    for path in ("/", "/memory", f"/memory/{demo.ids['qdrant']}", "/nowhere", "/static/dash.css"):
        assert refused(dash.get(path), 403)
        assert refused(dash.get(path, referer=dash.address), 403)
        assert refused(dash.get(path, cookie=f"mash_{dash.port}=x"), 403)
        assert refused(dash.get(f"{path}?token=x"), 403)
        assert refused(dash.get(path, "POST"), 403)


@pytest.mark.spec("R-166")
def test_the_token_works_once_and_leaves_the_address(demo: Demo) -> None:
    with dashboard(demo.place) as dash:
        assert refused(dash.get(f"/?token={dash.token}", "POST"), 403)
        first = dash.get(f"/timeline?scope=personal&token={dash.token}")
        assert (first.status, first.header("location")) == (
            303,
            f"{dash.root}/timeline?scope=personal",
        )
        given = first.header("set-cookie") or ""
        assert "HttpOnly" in given
        assert "SameSite=strict" in given
        assert refused(dash.get(f"/?token={dash.token}"), 403)
        key = given.partition(";")[0]
        again = dash.get(f"/memory?token={dash.token}", cookie=key)
        assert (again.status, again.header("location")) == (303, f"{dash.root}/memory")
        elsewhere = dash.get("//evil.example/?token=x", cookie=key)
        assert elsewhere.header("location") == f"{dash.root}//evil.example/"


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user takes root")
def test_another_user_who_reads_the_address_among_the_processes_does_not_get_in(demo: Demo) -> None:
    with dashboard(demo.place) as dash:
        # As the browser's own command: any user can read it there.
        script = (
            "import os, socket, sys\n"
            "os.setuid(65534)\n"
            "asked = socket.socket()\n"
            "asked.connect(('127.0.0.1', int(sys.argv[1])))\n"
            "host = f'Host: 127.0.0.1:{sys.argv[1]}'\n"
            "proxied = 'X-Forwarded-For: 10.0.0.1'\n"
            "head = [f'GET {sys.argv[2]} HTTP/1.1', host, proxied, '', '']\n"
            "asked.sendall('\\r\\n'.join(head).encode())\n"
            "print(asked.recv(12).decode())\n"
        )
        path = f"{dash.root}/?token={dash.token}"
        command = [sys.executable, "-I", "-c", script, str(dash.port), path]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True)
        assert theirs.stdout == "HTTP/1.1 403\n"
        assert dash.enter()


@pytest.mark.spec("R-166")
def test_the_cookie_is_for_our_addresses_alone_and_nobody_can_guess_these(demo: Demo) -> None:
    with dashboard(demo.place) as dash:
        given = dash.get(f"/?token={dash.token}").header("set-cookie") or ""
        assert f"; Path={dash.root}/;" in f"{given};"
        assert len(dash.root) > 20
        cookie = given.partition(";")[0]
        assert DATA in dash.get("/memory", cookie=cookie).text
    with dashboard(demo.place) as again:
        assert again.root != dash.root


@pytest.mark.spec("R-166")
@pytest.mark.parametrize(
    "path", ["/", "/memory", "/static/dash.css", "/live", "{root}", "{root}x/"]
)
def test_other_addresses_show_nothing_even_with_the_cookie_or_the_token(
    dash: Dashboard, cookie: str, path: str
) -> None:
    path = path.format(root=dash.root)
    outside = replace(dash, address=f"http://127.0.0.1:{dash.port}/")
    for sent in ({"cookie": cookie}, {}):
        for asked in (path, f"{path}?token={dash.token}"):
            answer = outside.get(asked, **sent)
            assert (answer.status, answer.text) == (404, "There is no such page.\n")
            assert answer.header("set-cookie") is None


@pytest.mark.spec("R-166")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"])
@pytest.mark.row(65)
def test_nothing_but_get_is_answered(dash: Dashboard, cookie: str, method: str) -> None:
    answer = dash.get("/memory", method, cookie=cookie)
    assert refused(answer, 405)
    assert answer.header("allow") == "GET"


@pytest.mark.spec("R-166")
@pytest.mark.parametrize(
    "path",
    [
        "/static/../pages.py",
        "/static/..%2fpages.py",
        "/static/%2e%2e/%2e%2e/client.py",
        "/static//etc/passwd",
        "/etc/passwd",
        "/memory/..%2f..%2fetc%2fpasswd",
        "/chats/%00",
        "/nowhere",
    ],
)
@pytest.mark.row(65)
def test_no_path_leads_to_a_file(dash: Dashboard, cookie: str, path: str) -> None:
    assert refused(dash.get(path, cookie=cookie), 400, 404)


@pytest.mark.spec("R-166")
def test_every_answer_carries_the_policy(dash: Dashboard, cookie: str) -> None:
    for answer in (
        dash.get("/memory", cookie=cookie),
        dash.get("/nowhere", cookie=cookie),
        dash.get("/memory"),
        dash.get("/static/dash.js", cookie=cookie),
    ):
        policy = answer.header("content-security-policy") or ""
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
        assert "unsafe" not in policy
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("cache-control") == "no-store"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
        assert answer.header("access-control-allow-origin") is None
        assert answer.header("server") is None


@pytest.mark.spec("R-166")
@pytest.mark.row(65)
def test_http_1_0_and_broken_requests_get_no_data(dash: Dashboard) -> None:
    for request in (
        b"GET /memory HTTP/1.0\r\n\r\n",
        b"GET /memory HTTP/1.1\r\n\r\n",
        b"GET /memory HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ):
        with socket.create_connection(("127.0.0.1", dash.port), 10) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            said = b""
            while chunk := connection.recv(65536):
                said += chunk
        assert said.split(b" ")[1:2] in ([b"400"], [b"403"], [])
        assert DATA.encode() not in said


@pytest.mark.spec("R-166")
@pytest.mark.row(65)
def test_many_connections_at_once_end_and_leave_it_working(dash: Dashboard, cookie: str) -> None:
    held = [socket.create_connection(("127.0.0.1", dash.port), 10) for _ in range(200)]
    for connection in held:
        connection.close()
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: dash.get("/memory", cookie=cookie).status, range(100)))
    assert set(found) <= {200, 503}
    assert dash.get("/memory", cookie=cookie).status == 200


@pytest.mark.spec("R-166")
def test_it_listens_on_loopback_alone(dash: Dashboard) -> None:
    told = subprocess.run(
        ["cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True
    )
    port = f"{dash.port:04X}"
    bound = {
        line.split()[1].partition(":")[0]
        for line in told.stdout.splitlines()
        if f":{port} " in line and line.split()[3] == "0A"
    }
    assert "0100007F" in bound
    assert bound <= {"0100007F", "00000000000000000000000001000000"}


@pytest.mark.spec("R-102", "R-166")
def test_looking_at_everything_changes_nothing(dash: Dashboard, demo: Demo, cookie: str) -> None:
    before = contents(demo)
    paths = [
        "/memory",
        "/memory?q=qdrant",
        "/chats",
        "/chats?q=qdrant",
        "/timeline",
        "/throughline",
    ]
    paths += [f"/memory/{record_id}" for record_id in demo.ids.values()]
    paths += [f"/memory/{record_id}/json" for record_id in demo.ids.values()]
    paths += ["/chats/claude-code-s-filters", "/health", "/sessions", "/sessions/s-again"]
    for path in paths:
        assert dash.get(path, cookie=cookie).status == 200, path
    assert contents(demo) == before


def contents(demo: Demo) -> list[object]:
    """Every row of the tables of records."""
    with closing(sqlite3.connect(f"file:{demo.place.paths.store}?mode=ro", uri=True)) as db:
        names = ("records", "revisions", "evidence", "confirmations", "links", "receipts")
        return [db.execute(f"SELECT * FROM {name}").fetchall() for name in names]  # noqa: S608


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_with_its_terminal_also_while_a_page_waits_for_changes(
    demo: Demo, how: signal.Signals
) -> None:
    with dashboard(demo.place) as dash:
        cookie = dash.enter()
        with dash.open("/live", cookie=cookie) as live:
            assert live.status == 200
            dash.process.send_signal(how)
            assert dash.process.wait(10) == (0 if how == signal.SIGINT else -how)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell of a hang-up otherwise")
def test_it_ends_with_its_terminal_also_where_no_signal_says_so(demo: Demo) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mash_plugin", "dash", "--no-open"],
        env=demo.place.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    with process:
        try:
            os.close(theirs)
            assert process.stdout
            assert process.stdout.readline().startswith(b"http://127.0.0.1:")
            assert process.poll() is None
            os.close(ours)
            assert process.wait(20) == -signal.SIGTERM
        finally:
            process.kill()


def test_a_port_that_is_taken_is_named(demo: Demo, dash: Dashboard) -> None:
    with dashboard(demo.place, "--port", str(dash.port)) as second:
        assert second.address == ""
        assert second.process.wait(20) == 1
