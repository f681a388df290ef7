"""One daemon per home, whoever starts, kills, stops or replaces it."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from mash_plugin import client, connecting, wire
from mash_plugin.cli.stopping import free_store
from mash_plugin.errors import DaemonUnavailable, MashError, UnsafePlace, UpgradeNeeded
from tests.support.daemons import SESSION_START, Place, event
from tests.support.polling import eventually


def mash(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mash_plugin", *arguments]
    return subprocess.run(command, env=place.environment, capture_output=True, text=True)


def lock_is_free(place: Place) -> bool:
    with open(place.paths.daemon_lock, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.spec("R-181", "R-182")
@pytest.mark.row(7)
def test_many_clients_at_once_start_one_daemon(place: Place) -> None:
    with ThreadPoolExecutor(16) as pool:
        pids = set(pool.map(lambda _: place.call("ping")["pid"], range(32)))
    assert len(pids) == 1
    eventually(lambda: place.daemons() == list(pids), "another daemon lives on")


@pytest.mark.row(7)
def test_many_daemons_at_once_leave_one(place: Place) -> None:
    children = [
        subprocess.Popen([sys.executable, "-I", "-m", "mash_plugin.daemon"], env=place.environment)
        for _ in range(12)
    ]
    place.children.extend(children)
    eventually(lambda: sum(c.poll() is None for c in children) == 1, "more than one is left")
    eventually(place.is_served, "none serves")
    assert sorted(c.poll() or 0 for c in children) == [0] * 12
    assert len(place.daemons()) == 1


def test_the_command_starts_stops_and_shows_the_daemon(place: Place) -> None:
    stopped = mash(place, "daemon", "status", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)) == (3, {"running": False})
    started = json.loads(mash(place, "daemon", "start", "--json").stdout)
    assert json.loads(mash(place, "daemon", "start", "--json").stdout)["pid"] == started["pid"]
    status = mash(place, "daemon", "status", "--json")
    assert status.returncode == 0
    assert json.loads(status.stdout)["pid"] == started["pid"]
    restarted = json.loads(mash(place, "daemon", "restart", "--json").stdout)
    assert restarted["pid"] != started["pid"]
    assert mash(place, "daemon", "stop").returncode == 0
    assert not place.daemons()
    assert not os.path.lexists(place.paths.socket)
    assert lock_is_free(place)
    assert mash(place, "daemon", "stop").returncode == 0


@pytest.mark.row(9, 24)
def test_a_stopped_process_is_called_hanging_and_can_be_replaced(place: Place) -> None:
    daemon = place.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    status = mash(place, "daemon", "status", "--json")
    assert status.returncode == 3
    assert json.loads(status.stdout) == {"running": True, "hangs": True, "pid": daemon.pid}
    with pytest.raises(DaemonUnavailable) as caught:
        place.call("ping", timeout_s=0.3)
    assert caught.value.details == {"outcome": "unknown"}
    assert mash(place, "daemon", "restart").returncode == 0
    daemon.wait(20)
    assert place.call("ping", start=False)["pid"] != daemon.pid


@pytest.mark.row(24)
def test_the_store_is_freed_from_a_process_that_hangs(place: Place) -> None:
    daemon = place.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    free_store(place.paths)
    daemon.wait(20)
    assert lock_is_free(place)


@pytest.mark.row(24)
def test_a_process_that_only_owns_the_socket_is_never_signalled(place: Place) -> None:
    run = Path(place.paths.run)
    run.mkdir(parents=True, mode=0o700)
    Path(place.paths.daemon_lock).write_text(f"{os.getpid()}\n")
    code = (
        "import os, socket, sys, time\n"
        "os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); s.bind('s.sock'); s.listen()\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(run)], stdout=subprocess.PIPE, env=place.environment
    )
    assert other.stdout
    other.stdout.readline()
    stop = subprocess.Popen(
        [sys.executable, "-m", "mash_plugin", "daemon", "stop"],
        env=place.environment,
        stderr=subprocess.PIPE,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            stop.wait(4)  # it waits for an end that is not its to bring about
        assert other.poll() is None
    finally:
        stop.kill()
        stop.communicate()
        other.kill()
        other.communicate()


@pytest.mark.row(42)
def test_the_foreground_daemon_ends_on_an_interrupt(place: Place) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "mash_plugin", "daemon", "start", "--foreground"],
        env=place.environment,
    )
    place.children.append(child)
    eventually(place.is_served, "it does not serve")
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 0


def test_the_daemon_ends_when_nobody_needs_it(place: Place) -> None:
    daemon = place.start("--idle-s", "0.3")
    assert daemon.wait(30) == 0
    assert not os.path.lexists(place.paths.socket)
    assert place.call("ping")["pid"] != daemon.pid


def test_a_lease_keeps_the_daemon_and_returns_to_the_next_one(place: Place) -> None:
    daemon = place.start("--idle-s", "0.3")
    with client.lease(place.paths):
        eventually(lambda: place.call("status")["load"]["leases"] == 1, "no lease")
        with pytest.raises(subprocess.TimeoutExpired):
            daemon.wait(1.5)
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(20)
        place.start()
        eventually(lambda: place.call("status")["load"]["leases"] == 1, "the lease did not return")
    eventually(lambda: place.call("status")["load"]["leases"] == 0, "the lease stays")


@pytest.mark.row(25)
def test_every_call_is_answered_while_daemons_end_from_idleness(place: Place) -> None:
    daemon = place.launch("--idle-s", "0.02")
    pids = set()
    for number in range(40):
        pid = place.call("ping")["pid"]
        pids.add(pid)
        if pid != daemon.pid:
            place.call("stop")  # the call itself has started this one, which would live on
        with suppress(subprocess.TimeoutExpired):
            daemon.wait(number % 8 / 100)  # a call now meets one that serves, ends or has ended
            daemon = place.launch("--idle-s", "0.02")
    assert len(pids) > 1


@pytest.mark.row(21)
def test_a_daemon_whose_socket_was_taken_away_ends(place: Place) -> None:
    daemon = place.start("--tick-s", "0.2")
    os.unlink(place.paths.socket)
    assert daemon.wait(30) == 0
    assert place.call("ping")["pid"] != daemon.pid


@pytest.mark.row(21)
def test_a_daemon_never_removes_the_socket_of_another(place: Place) -> None:
    daemon = place.start()
    os.rename(place.paths.socket, place.paths.socket + "-away")
    Path(place.paths.socket).write_text("somebody else's")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(20) == 0
    assert Path(place.paths.socket).read_text() == "somebody else's"


@pytest.mark.row(22)
def test_a_daemon_whose_lock_was_taken_away_lets_nobody_else_write(place: Place) -> None:
    daemon = place.start("--tick-s", "3")
    os.unlink(place.paths.daemon_lock)
    second = subprocess.run(
        [sys.executable, "-I", "-m", "mash_plugin.daemon"],
        env=place.environment,
        capture_output=True,
        timeout=30,
    )
    assert (second.returncode, second.stderr) == (0, b"")
    assert daemon.wait(30) == 0  # it noticed, too
    assert place.call("ping")["pid"] != daemon.pid


@pytest.mark.row(15)
def test_an_unsafe_run_folder_is_refused_by_both_sides(place: Place) -> None:
    run = Path(place.paths.run)
    run.mkdir(parents=True)
    run.chmod(0o777)
    for arguments in (["-I", "-m", "mash_plugin.daemon"], ["-m", "mash_plugin", "daemon", "start"]):
        ran = subprocess.run(
            [sys.executable, *arguments], env=place.environment, capture_output=True, text=True
        )
        assert ran.returncode == 1
        assert f"chmod 700 '{run}'" in ran.stderr
    with pytest.raises(UnsafePlace, match="chmod 700"):
        place.call("ping")
    assert not list(run.iterdir())


@pytest.mark.row(8)
def test_a_daemon_that_cannot_start_says_why(place: Place) -> None:
    place.mash_home.mkdir()
    Path(place.paths.run).write_text("a file")
    with pytest.raises(UnsafePlace):
        place.call("ping")
    os.unlink(place.paths.run)
    os.mkdir(place.paths.run, 0o700)
    os.mkdir(place.paths.socket)
    with pytest.raises(UnsafePlace, match="not a socket"):
        place.call("ping")


@pytest.mark.row(36)
def test_a_damaged_store_is_told_and_hooks_stay_silent(place: Place) -> None:
    data = Path(place.paths.data)
    data.mkdir(parents=True, mode=0o700)
    Path(place.paths.store).write_bytes(b"this is no database" * 500)
    assert place.hook("session-start", SESSION_START).is_harmless()
    with pytest.raises(MashError) as caught:
        place.call("list_records", {})
    assert caught.value.code == "store_damaged"
    assert place.call("ping")["problem"]["code"] == "store_damaged"
    assert Path(place.paths.store).read_bytes().startswith(b"this is no database")


def test_a_killed_daemons_session_gets_a_new_one_at_the_next_hook(place: Place) -> None:
    daemon = place.start()
    daemon.kill()
    daemon.wait(20)
    eventually(
        lambda: (
            place.hook("session-start", event("SessionStart", session_id=os.urandom(4).hex())).out
        ),
        "hooks stay silent",
    )
    assert place.daemons() != [daemon.pid]


@pytest.mark.row(25)
def test_hooks_and_clients_survive_daemons_that_are_killed_at_random(place: Place) -> None:
    answered: list[int] = []
    unanswered: list[DaemonUnavailable] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            try:
                answered.append(place.call("ping")["pid"])
            except DaemonUnavailable as error:
                unanswered.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(12):
        wanted = len(answered) + 3 + number
        eventually(lambda: len(answered) > wanted, "nobody is answered", every_s=0.001)  # noqa: B023
        for pid in place.daemons():
            os.kill(pid, signal.SIGKILL)
        assert place.hook("prompt-submit", event("UserPromptSubmit", prompt="x")).is_harmless()
    is_over.set()
    for thread in threads:
        thread.join(30)
    assert all(error.details == {"outcome": "unknown"} for error in unanswered)
    eventually(lambda: len(place.daemons()) == 1, "not exactly one daemon is left")


NEWER = """
import sys
import mash_plugin.wire as wire
wire.PROTOCOL, wire.OLDEST_PROTOCOL = 2, {oldest}
if sys.argv[1:] == ["daemon"]:
    from mash_plugin.daemon.start import main
    sys.exit(main([]))
from mash_plugin import client, starting, wire
starting.daemon_command = lambda: [sys.executable, __file__, "daemon"]
{code}
"""


def newer(place: Place, code: str, oldest: int = 2) -> subprocess.CompletedProcess[str]:
    """Run code in a client of the next protocol, whose daemons speak it too."""
    script = place.root / "newer mash_plugin.daemon.py"
    script.write_text(NEWER.format(oldest=oldest, code=code))
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, env=place.environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.row(23)
def test_a_newer_client_replaces_the_daemon_once_and_an_older_one_never(place: Place) -> None:
    old = place.start()
    ask = "print(client.call('list_chats', {})['chats'], client.call('ping', {})['protocol'])"
    first = newer(place, ask)
    assert (first.stdout, first.returncode) == ("[] 2\n", 0), first.stderr
    assert old.wait(20) == 0
    (new,) = place.daemons()
    with pytest.raises(UpgradeNeeded, match="restart the agent") as caught:
        place.call("list_chats", {})
    assert caught.value.details == {"protocol": 2}
    ran = place.hook("session-start", SESSION_START)
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert place.daemons() == [new]


@pytest.mark.parametrize("wanted", [wire.PROTOCOL, 0, -1, "2", None])
@pytest.mark.row(23)
def test_only_a_newer_client_is_made_room_for(place: Place, wanted: object) -> None:
    daemon = place.start()
    with pytest.raises(UpgradeNeeded):
        place.call("drain", {"protocol": wanted})
    assert place.call("ping", start=False)["pid"] == daemon.pid


@pytest.mark.row(23)
def test_versions_that_alternate_replace_each_other_once_a_minute(place: Place) -> None:
    place.start()
    assert newer(place, "client.call('list_chats', {})").returncode == 0
    os.kill(place.daemons()[0], signal.SIGKILL)
    eventually(lambda: not place.daemons(), "it lives on")
    older = place.start()
    refused = newer(place, "client.call('list_chats', {})")
    assert "less than a minute ago" in refused.stderr
    eventually(lambda: place.daemons() == [older.pid], "the refused one's daemon stays")
    line = b"mash/2 hook prompt-submit claude-code\n{}"
    for _ in range(3):
        connection = connecting.connect(place.paths, 5) or socket.socket()
        # It hangs up at the first line.
        with connection, suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(line)
            assert connection.recv(9) == b""
    assert place.daemons() == [older.pid]
    os.utime(Path(place.paths.run) / "replaced", (0, 0))
    with connecting.connect(place.paths, 5) or socket.socket() as connection:
        connection.sendall(line)
    assert older.wait(20) == 0


@pytest.mark.row(23)
def test_an_older_protocol_in_the_supported_range_is_served(place: Place) -> None:
    assert newer(place, "client.call('ping', {})", oldest=1).returncode == 0
    assert place.call("list_chats", {}) == {"chats": [], "next_offset": None}
