"""A hook is harmless whatever the daemon does, and starts a missing one."""

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.daemons import (
    HOOKS,
    NAMES,
    SESSION_START,
    Place,
    Ran,
    event,
    impostor,
    run_hook,
)
from tests.support.polling import eventually

WHOLE = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}\n'
REPLIES = {
    "nothing": b"",
    "garbage": os.urandom(600),
    "half": WHOLE[:50],
    "no newline": WHOLE[:-1],
    "two lines": WHOLE + WHOLE,
    "another object": b'{"decision":"block"}\n',
    "a traceback": b"Traceback (most recent call last):\n",
    "not utf-8": WHOLE.replace(b'"x"', b'"\xff"'),
    "two megabytes": WHOLE.replace(b'"x"', b'"' + b"x" * (2 << 20) + b'"'),
    "a length of two gigabytes": b"\x80\x00\x00\x00",
}


def send(reply: bytes, connection: socket.socket) -> None:
    try:
        connection.sendall(reply)
    except OSError:
        return


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@pytest.mark.spec("R-132")
@pytest.mark.row(12)
def test_a_reply_that_is_not_hook_output_is_not_printed(place: Place, reply: bytes) -> None:
    with impostor(place, lambda connection: send(reply, connection)):
        for name in NAMES:
            ran = place.hook(name, SESSION_START)
            assert ran.is_harmless()
            assert not ran.out
    assert not place.daemons()


def test_a_whole_reply_is_printed_as_it_is(place: Place) -> None:
    with impostor(place, lambda connection: send(WHOLE, connection)):
        assert place.hook("session-start", SESSION_START).out == WHOLE


@pytest.mark.spec("R-132")
def test_a_whole_line_is_enough_where_the_daemon_stays_on_the_line(place: Place) -> None:
    hung_up = threading.Event()

    def say(connection: socket.socket) -> None:
        send(WHOLE, connection)
        while connection.recv(1 << 16):  # until the hook has ended
            pass
        hung_up.set()

    with impostor(place, say):
        assert place.hook("session-start", SESSION_START).out == WHOLE
        assert hung_up.wait(5)


@pytest.mark.row(9)
def test_a_daemon_that_never_answers_is_left_at_the_deadline(place: Place) -> None:
    daemon = place.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        for name in NAMES:
            ran = place.hook(name, SESSION_START)
            assert ran.is_harmless()
            assert not ran.out
            assert ran.seconds < 5
        assert place.daemons() == [daemon.pid]
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def test_a_starting_subagent_waits_less_than_a_starting_session(place: Place) -> None:
    with stopped(place):
        session = place.hook("session-start", SESSION_START)
        body = event("SubagentStart", agent_id="a")
        subagents = [place.hook("session-start", body) for _ in range(3)]
    assert all(ran.is_harmless() for ran in subagents)
    assert min(ran.seconds for ran in subagents) < session.seconds - 0.3


def stopped(place: Place) -> "StoppedDaemon":
    return StoppedDaemon(place)


class StoppedDaemon:
    """A daemon that does not run while the block does."""

    def __init__(self, place: Place) -> None:
        self.pid = place.start().pid

    def __enter__(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGCONT)


@pytest.mark.row(9)
def test_a_full_queue_is_left_without_another_daemon(place: Place) -> None:
    run = Path(place.paths.run)
    run.mkdir(parents=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    waiting: list[socket.socket] = []
    os.chdir(run)
    try:
        listener.bind("s.sock")
        listener.listen(0)
        while len(waiting) < 64:
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].setblocking(False)
            try:
                waiting[-1].connect("s.sock")
            except BlockingIOError:
                break
        for name in NAMES:
            ran = place.hook(name, SESSION_START)
            assert ran.is_harmless()
            assert not ran.out
        assert not place.daemons()
        # It is told at once, long before the deadline of 0.8 s.
        assert min(place.hook("session-start", b"{}").seconds for _ in range(3)) < 0.7
    finally:
        os.chdir("/")
        for one in (listener, *waiting):
            one.close()


@pytest.mark.spec("R-132", "R-181", "R-182")
@pytest.mark.row(7)
def test_many_hooks_at_once_start_one_daemon(place: Place) -> None:
    def start(number: int) -> Ran:
        return place.hook(NAMES[number % 4], event("SessionStart", session_id=f"s{number}"))

    with ThreadPoolExecutor(32) as pool:
        assert all(ran.is_harmless() for ran in pool.map(start, range(32)))
    eventually(place.is_served, "no daemon came up")
    eventually(lambda: len(place.daemons()) == 1, "more than one daemon lives on")
    start_again = place.hook("session-start", event("SessionStart", session_id="later"))
    assert b"additionalContext" in start_again.out
    for folder, mode in ((place.paths.run, 0o700), (place.paths.data, 0o700)):
        assert os.stat(folder).st_mode & 0o777 == mode
    for file in (place.paths.socket, place.paths.store, place.paths.chats, place.paths.log):
        assert os.stat(file).st_mode & 0o777 == 0o600


@pytest.mark.row(8)
def test_a_stale_socket_is_replaced(place: Place) -> None:
    with impostor(place, lambda _connection: None):
        saved = Path(place.paths.run) / "kept"
        os.link(place.paths.socket, saved)
    os.rename(saved, place.paths.socket)
    place.hook("session-start", SESSION_START)
    eventually(place.is_served, "the stale socket is still there")


@pytest.mark.parametrize("kind", ["file", "folder", "symlink", "dangling symlink"])
@pytest.mark.row(8)
def test_what_is_no_socket_is_left_alone(place: Place, kind: str) -> None:
    path = Path(place.paths.socket)
    path.parent.mkdir(parents=True, mode=0o700)
    match kind:
        case "file":
            path.write_text("mine")
        case "folder":
            path.mkdir()
        case "symlink":
            (path.parent / "other").write_text("mine")
            path.symlink_to("other")
        case _:
            path.symlink_to("nowhere")
    before = os.lstat(path)
    for name in NAMES:
        ran = place.hook(name, SESSION_START)
        assert ran.is_harmless()
        assert not ran.out
    assert not place.daemons()
    assert os.lstat(path).st_ino == before.st_ino


@pytest.mark.parametrize("kind", ["open to others", "symlink", "file"])
@pytest.mark.spec("R-182")
@pytest.mark.row(15)
def test_an_unsafe_run_folder_is_not_used(place: Place, kind: str, tmp_path: Path) -> None:
    run = Path(place.paths.run)
    run.parent.mkdir()
    if kind == "file":
        run.write_text("")
    elif kind == "symlink":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        run.symlink_to(tmp_path / "elsewhere")
    else:
        run.mkdir()
        run.chmod(0o777)
    for name in NAMES:
        ran = place.hook(name, SESSION_START)
        assert ran.is_harmless()
        assert not ran.out
    assert not place.daemons()
    assert run.is_file() or not list(run.iterdir())


@pytest.mark.parametrize("word", ["off", "OFF", " 0 ", "False", "no"])
@pytest.mark.spec("R-138")
def test_file_recall_off_never_asks_the_daemon(place: Place, word: str) -> None:
    with impostor(place, lambda connection: send(WHOLE, connection)) as heard:
        off = {"MASH_FILE_RECALL": word}
        ran = place.hook("file-read", event("PreToolUse"), environment=off)
        assert (ran.code, ran.out) == (0, b"")
        assert not heard
        place.hook("session-start", SESSION_START, environment=off)
        assert len(heard) == 1


def test_file_recall_off_starts_no_daemon(place: Place) -> None:
    place.hook("file-read", event("PreToolUse"), environment={"MASH_FILE_RECALL": "off"})
    assert not Path(place.paths.run).exists()


def test_a_checkout_starts_the_daemon_through_mash_on_path(place: Place) -> None:
    command = place.hook_command("session-start")[:-1]
    ran = run_hook(command, place.environment, SESSION_START)
    assert ran.is_harmless()
    eventually(place.is_served, "the checkout's hook started no daemon")
    nowhere = place.environment | {"PATH": "/nowhere", "MASH_HOME": str(place.root / "other")}
    assert run_hook(command, nowhere, SESSION_START) == Ran(0, b"", b"", pytest.approx(0, abs=9))


@pytest.mark.row(7)
def test_hooks_that_start_at_once_do_not_all_start_a_daemon(place: Place) -> None:
    commands, started = place.root / "bin", place.root / "started"
    commands.mkdir()
    (commands / "mash").write_text(f"#!/bin/sh\necho $* >> '{started}'\nexec sleep 60\n")
    (commands / "mash").chmod(0o755)
    command = place.hook_command("prompt-submit")[:-1]
    environment = place.environment | {"PATH": f"{commands}:/usr/bin:/bin"}
    with ThreadPoolExecutor(16) as pool:
        runs = list(pool.map(lambda _: run_hook(command, environment, SESSION_START), range(16)))
    assert all(ran.is_harmless() for ran in runs)
    # One at a time holds the gate; when its own deadline comes, the next one may try.
    starts = started.read_text().splitlines()
    assert 1 <= len(starts) < 12
    # Another way of starting would wait for the gate that the hook holds until its deadline.
    assert set(starts) == {"daemon start --foreground"}


@pytest.mark.row(17)
def test_an_installed_hook_ignores_the_environments_home(place: Place) -> None:
    planted = place.root / "planted"
    environment = place.environment | {"MASH_HOME": str(planted)}
    del environment["MASH_TESTING"]
    run_hook(place.hook_command("session-start"), environment, SESSION_START)
    eventually(place.is_served, "the baked home has no daemon")
    assert not planted.exists()


@pytest.mark.parametrize("kind", ["clone", "worktree"])
@pytest.mark.row(17)
def test_a_home_in_a_work_tree_gets_no_run_folder(place: Place, kind: str) -> None:
    if kind == "clone":
        (place.root / ".git").mkdir()
        (place.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    else:
        (place.root / ".git").write_text("gitdir: /elsewhere\n")
    assert place.hook("session-start", SESSION_START).out == b""
    assert not place.mash_home.exists()


@pytest.mark.row(18)
def test_a_long_run_folder_is_reached_from_inside(place: Place) -> None:
    long = place.root / ("a" * 120) / "é b"
    long.mkdir(parents=True)
    place.mash_home = long
    place.environment["MASH_HOME"] = str(long)
    place.hook("session-start", SESSION_START)
    eventually(place.is_served, "no daemon under a long path")
    again = place.hook("session-start", event("SessionStart", session_id="again"))
    assert b"additionalContext" in again.out


@pytest.mark.row(26)
def test_the_daemon_lives_on_when_the_hosts_group_is_killed(place: Place) -> None:
    command = " ".join(f"'{word}'" for word in place.hook_command("session-start"))
    host = subprocess.Popen(
        ["/bin/sh", "-c", f"echo '{SESSION_START.decode()}' | {command}; sleep 600"],
        env=place.environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        eventually(place.is_served, "no daemon came up")
    finally:
        os.killpg(host.pid, signal.SIGKILL)
    # The host waits for the end of the hook's output: the daemon must not hold it open.
    assert host.communicate(timeout=20)[0] is not None
    (pid,) = place.daemons()
    os.kill(pid, signal.SIGHUP)
    assert place.call("ping", start=False)["pid"] == pid
    descriptors = {os.readlink(f"/proc/{pid}/fd/{n}") for n in (0, 1, 2)}
    assert descriptors == {"/dev/null"}
    assert os.readlink(f"/proc/{pid}/cwd") == "/"


def test_the_daemon_inherits_no_keys_and_no_switches(place: Place) -> None:
    secrets = {"ANTHROPIC_API_KEY": "sk-ant-x", "MASH_RECORD_CAPTURE": "off"}
    place.hook("session-start", SESSION_START, environment=secrets)
    eventually(place.is_served, "no daemon came up")
    (pid,) = place.daemons()
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"sk-ant-x" not in environment
    assert b"MASH_RECORD_CAPTURE" not in environment
    assert f"MASH_HOME={place.mash_home}".encode() in environment


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user takes root")
@pytest.mark.spec("R-182")
@pytest.mark.row(17)
def test_another_users_listener_hears_nothing(place: Place) -> None:
    run = Path(place.paths.run)
    run.mkdir(parents=True, mode=0o700)
    code = (
        "import os, socket, sys\n"
        "os.chdir(sys.argv[1]); s = socket.socket(socket.AF_UNIX); s.bind('s.sock')\n"
        "os.setuid(65534); s.listen(8); print('ready', flush=True)\n"
        "c, _ = s.accept(); print(len(c.recv(9)), flush=True)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(run)], stdout=subprocess.PIPE)
    assert other.stdout
    assert other.stdout.readline() == b"ready\n"
    try:
        ran = place.hook("session-start", SESSION_START)
        assert (ran.code, ran.out) == (0, b"")
        assert other.stdout.readline() == b"0\n"
    finally:
        other.kill()
        other.communicate()


def test_the_relay_imports_next_to_nothing() -> None:
    def modules(code: str) -> set[str]:
        code = f"import sys; sys.path.insert(0, {str(HOOKS)!r}); {code}; print(*sys.modules)"
        command = [sys.executable, "-I", "-S", "-c", code]
        return set(subprocess.check_output(command, text=True).split())

    own = modules("import relay") - modules("pass")
    assert own - {"posix", "_signal"} == {"relay", "_socket", "select"}


@pytest.mark.parametrize("missing", ["posix", "_signal", "_socket"])
def test_the_relay_works_where_the_small_modules_are_missing(served: Place, missing: str) -> None:
    body = event("SessionStart", source="startup", session_id=f"without{missing}")
    code = (
        "import builtins, os, socket, signal, sys\n"
        "real = builtins.__import__\n"
        "def deny(name, g=None, *rest):\n"
        f"    if name == {missing!r} and g and g.get('__name__') == 'relay': raise ImportError\n"
        "    return real(name, g, *rest)\n"
        "builtins.__import__ = deny\n"
        f"sys.path.insert(0, {str(HOOKS)!r}); import relay; relay.run('session-start')"
    )
    command = [sys.executable, "-I", "-S", "-c", code, "claude-code", str(served.mash_home)]
    assert b"additionalContext" in run_hook(command, served.environment, body).out


def test_a_system_without_alarms_gets_silence(place: Place) -> None:
    code = (
        "import _signal, sys; del _signal.SIGALRM\n"
        f"sys.path.insert(0, {str(HOOKS)!r}); import relay; relay.run('session-start')"
    )
    command = [sys.executable, "-I", "-S", "-c", code, "claude-code", str(place.mash_home)]
    ran = run_hook(command, place.environment, SESSION_START)
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    assert not place.daemons()


@pytest.mark.parametrize("name", NAMES)
def test_the_executables_are_four_lines(name: str) -> None:
    lines = [line for line in (HOOKS / name).read_text().splitlines() if line]
    assert len(lines) == 4
    assert os.access(HOOKS / name, os.X_OK)
