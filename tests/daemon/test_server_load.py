"""The server under clients that are slow, many, strange or gone."""

import json
import os
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from mash_plugin import client, connecting, wire
from mash_plugin.errors import DaemonUnavailable, TooLarge
from tests.support.daemons import Place, event, impostor
from tests.support.polling import eventually


def connected(place: Place) -> socket.socket:
    connection = connecting.connect(place.paths, 10.0)
    assert connection is not None
    return connection


@pytest.mark.row(13)
def test_five_hundred_silent_connections_leave_room_for_a_new_client(place: Place) -> None:
    place.start()
    with ExitStack() as stack:
        silent = [stack.enter_context(connected(place)) for _ in range(500)]
        assert place.call("ping", start=False)["pid"]
        assert place.hook("session-start", event("SessionStart")).out
        eventually(
            lambda: place.call("status")["load"]["connections"] > 500, "not all were accepted"
        )
        assert silent[0].recv(1) == b""  # the one that waited longest made room


@pytest.mark.row(13)
def test_a_client_that_sends_half_a_frame_is_left(place: Place) -> None:
    place.start("--frame-s", "0.3")
    for half in (b"", b"mash/1 hook", b"mash/1 hook prompt-submit claude-code\n{", b'{"v":1'):
        with connected(place) as connection:
            connection.sendall(half)
            assert connection.recv(1) == b""


@pytest.mark.row(13)
def test_a_client_that_never_reads_its_reply_is_left(place: Place) -> None:
    place.start("--frame-s", "0.3")
    with connected(place) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        connection.sendall(wire.request_line("x" * 90, {}))
        connection.shutdown(socket.SHUT_WR)
        assert place.call("ping", start=False)["pid"]


def test_what_a_hook_no_longer_waits_for_comes_with_a_later_one(place: Place) -> None:
    place.start()
    body = event("SessionStart", source="resume")
    with connected(place) as connection:
        connection.shutdown(socket.SHUT_RD)
        connection.sendall(b"mash/1 hook session-start claude-code\n" + body)
        again = eventually(lambda: place.hook("session-start", body).out, "the block is lost")
    assert b"Saving memory" in again
    assert place.hook("session-start", body).out == b""


@pytest.mark.row(13)
def test_clients_that_leave_in_the_middle_disturb_nobody(place: Place) -> None:
    daemon = place.start()
    frame = wire.request_line("status", {})
    for cut in range(0, len(frame) + 1, 3):
        with connected(place) as connection:
            connection.sendall(frame[:cut])
    assert place.call("ping", start=False)["pid"] == daemon.pid


def test_too_long_a_request_is_told_so_and_not_kept(place: Place) -> None:
    place.start()
    with pytest.raises(TooLarge):
        place.call("record", {"text": "x" * wire.TOOL_LIMIT})
    with connected(place) as connection:
        with suppress(BrokenPipeError):
            connection.sendall(b'{"' + b"x" * (wire.TOOL_LIMIT + 2))
        reply = json.loads(connection.recv(1 << 16))
    assert reply["error"]["code"] == "too_large"


@pytest.mark.row(12)
def test_a_reply_without_end_is_left(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "REPLY_LIMIT", 1 << 20)
    sent: list[int] = []

    def send_without_end(connection: socket.socket) -> None:
        sent.append(0)
        with suppress(OSError):
            while sent[-1] < 64 << 20:
                sent[-1] += connection.send(b"x" * (1 << 16))

    with (
        impostor(place, send_without_end),
        pytest.raises(DaemonUnavailable, match="reply is over 1048576 bytes"),
    ):
        place.call("ping", start=False)
    assert len(sent) == 1
    assert sent[0] < 8 << 20


@pytest.mark.row(14)
def test_a_daemon_without_descriptors_recovers_when_some_are_free(place: Place) -> None:
    daemon = place.start()
    held = len(os.listdir(f"/proc/{daemon.pid}/fd"))
    soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (held + 6, hard))
    with ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connected(place))
        log = Path(place.paths.log)
        eventually(lambda: log.exists() and "out-of-descriptors" in log.read_text(), "never out")
        before = os.times().elapsed, cpu_ticks(daemon.pid)
        eventually(lambda: os.times().elapsed - before[0] > 1, "time stands still")
        spent = (cpu_ticks(daemon.pid) - before[1]) / os.sysconf("SC_CLK_TCK")
        assert spent < 0.5  # a loop that spins takes the whole second
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert eventually(lambda: place.call("ping", start=False)["pid"], "deaf") == daemon.pid


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user takes root")
@pytest.mark.spec("R-182")
@pytest.mark.row(16)
def test_another_user_is_turned_away_even_when_the_modes_let_them_in(place: Place) -> None:
    place.start()
    for folder in (Path(place.paths.run), *Path(place.paths.run).parents):
        if str(folder) not in ("/", "/tmp"):
            folder.chmod(0o755)
    Path(place.paths.socket).chmod(0o666)
    code = (
        "import os, socket, sys\n"
        "os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        's.sendall(b\'{"v":1,"method":"ping"}\\n\'); print(s.recv(99))'
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, place.paths.socket], capture_output=True, text=True
    )
    assert ran.stdout == "b''\n" or "Connection reset" in ran.stderr or "Broken pipe" in ran.stderr
    eventually(
        lambda: "refused-user uid=65534" in Path(place.paths.log).read_text(), "not in the log"
    )


@pytest.mark.spec("R-181")
def test_hooks_are_answered_while_every_tool_worker_waits(place: Place) -> None:
    place.start()
    quote = {"session_id": "nobody-knows-it", "quote": "never said anywhere at all"}
    change = {
        "action": "create",
        "scope": {"kind": "personal"},
        "body": {"statement": "s", "details": {"kind": "fact", "state": "current"}},
        "evidence": [quote],
    }
    with ExitStack() as stack:
        for number in range(12):
            connection = stack.enter_context(connected(place))
            request = {"operation_id": f"o{number}", "change": change}
            connection.sendall(wire.request_line("record", request))
        for number in range(4):
            assert place.hook("session-start", event("SessionStart", session_id=f"s{number}")).out
