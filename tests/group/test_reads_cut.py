"""Shared reads end within two seconds whatever the network does, and nobody else waits for them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import MashError, SharedUnavailable
from mash_plugin.group.kept import KeptGroup
from mash_plugin.group.reads import find_page
from mash_plugin.protocol import validate
from tests.support.daemons import ROOT
from tests.support.groups import NOW, Group, Server
from tests.support.polling import eventually
from tests.support.published import Node

pytestmark = pytest.mark.slow

Json = dict[str, Any]
SOON_S = 2.5
"""Two seconds, and what a busy machine adds."""


class Asking:
    """A member's daemon, as far as it asks the group."""

    def __init__(self, group: Group) -> None:
        self.kept = KeptGroup(os.environ)
        self.settings = group.settings("anna")

    def __call__(self) -> int:
        """How many records the first page has."""
        request = validate("list_records", {"shared": True})
        return len(self.kept.ask(self.settings, lambda db: find_page(db, request, NOW)).rows)

    def backend(self) -> int:
        """The server's process that the kept connection leads to."""
        row = self.kept.ask(self.settings, lambda db: db.one("SELECT pg_backend_pid()", {}))
        assert row is not None
        return int(row[0])

    def refused(self) -> tuple[MashError, float]:
        """The error of a question, and how long it took."""
        began = time.monotonic()
        with pytest.raises(SharedUnavailable) as caught:
            self()
        return caught.value, time.monotonic() - began


@pytest.fixture
def ask(group: Group) -> Iterator[Asking]:
    with group.connect("anna") as connection:
        Node(connection, "node-a").put("r1")
    asking = Asking(group)
    assert asking() == 1
    yield asking
    asking.kept.close()


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """The server neither answers nor closes anything."""
    assert server.process is not None
    main = server.process.pid
    children = Path(f"/proc/{main}/task/{main}/children").read_text()
    pids = [main, *map(int, children.split())]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.spec("R-173")
def test_a_server_that_says_nothing_more_is_given_up(ask: Asking, group: Group) -> None:
    with stopped(group.server):
        for _ in ("kept", "new"):
            error, seconds = ask.refused()
            assert "did not answer within" in error.message
            assert seconds < SOON_S
    assert ask() == 1


def test_whoever_waits_in_a_kept_connection_is_woken(ask: Asking, group: Group) -> None:
    with stopped(group.server):
        ask.refused()
        eventually(
            lambda: not [t for t in threading.enumerate() if t.name == "group-deadline"],
            "a thread still waits for the server that says nothing",
            timeout_s=30,
        )
    assert ask() == 1


def test_many_who_ask_at_once_are_all_told_in_time(ask: Asking, group: Group) -> None:
    with stopped(group.server), ThreadPoolExecutor(8) as pool:
        refusals = [pool.submit(ask.refused) for _ in range(8)]
        assert max(one.result()[1] for one in refusals) < SOON_S
    assert ask() == 1


def test_one_connection_is_kept_and_lent_to_one_at_a_time(ask: Asking) -> None:
    first = ask.backend()
    assert ask.backend() == first
    both = threading.Barrier(2, timeout=60)
    pids: list[int] = []

    def meet(db: Any) -> None:
        both.wait()
        pids.append(db.one("SELECT pg_backend_pid()", {})[0])

    with ThreadPoolExecutor(2) as pool:
        [*pool.map(lambda _: ask.kept.ask(ask.settings, meet), range(2))]
    assert len(set(pids)) == 2
    assert first in pids
    assert ask.backend() in pids


def test_a_broken_connection_is_replaced_within_the_same_question(
    ask: Asking, group: Group
) -> None:
    before = ask.backend()
    group.run("SELECT pg_terminate_backend(%s)", before)
    assert ask() == 1
    assert ask.backend() != before


def test_another_connection_file_ends_the_kept_connection(ask: Asking, group: Group) -> None:
    before = ask.backend()
    file = group.dsn_file("anna")
    file.write_text(group.dsns["anna"] + " \n")
    assert ask.backend() != before


@contextmanager
def listening(backlog: int) -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(backlog)
        yield listener


def elsewhere(group: Group, listener: socket.socket, more: str = "") -> None:
    """Let the connection file name another server."""
    dsn = group.dsns["anna"].replace(str(group.server.folder), "127.0.0.1")
    port = listener.getsockname()[1]
    text = dsn.replace(f"port={group.server.port}", f"port={port}")
    assert str(port) in text
    group.dsn_file("anna").write_text(f"{text}{more}\n")


def test_a_server_that_accepts_nobody_is_given_up(ask: Asking, group: Group) -> None:
    with listening(0) as listener:
        full = [socket.socket() for _ in range(4)]  # from here on nothing is let in
        for one in full:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        elsewhere(group, listener)
        assert ask.refused()[1] < SOON_S
        for one in full:
            one.close()


def test_a_server_that_accepts_and_says_nothing_is_given_up(ask: Asking, group: Group) -> None:
    with listening(8) as listener:
        elsewhere(group, listener)
        assert ask.refused()[1] < SOON_S


def test_a_server_without_tls_is_refused_at_once(ask: Asking, group: Group) -> None:
    with listening(8) as listener, ThreadPoolExecutor(1) as pool:
        elsewhere(group, listener, " sslmode=verify-full")

        def say_no() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(8)
                connection.sendall(b"N")
                connection.recv(8)

        pool.submit(say_no)
        error, seconds = ask.refused()
        assert "SSL" in error.message
        assert "nothing local is shown in its place" in error.message
        assert seconds < SOON_S


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What a node saw while the network under its server was taken down."""
    unshare = [shutil.which("unshare") or "unshare"]
    unshare += [] if os.geteuid() == 0 else ["-c", "--keep-caps"]
    unshare += ["-n", "-m"]
    probe = subprocess.run([*unshare, "ip", "link", "set", "lo", "up"], capture_output=True)
    if probe.returncode:
        pytest.skip("root-only: this kernel gives ordinary users no namespaces")
    folder = tmp_path_factory.mktemp("cut")
    command = [*unshare, sys.executable, "-m", "tests.support.cut_network", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told: Json = json.loads(done.stdout)
    return told


@pytest.mark.spec("R-173")
@pytest.mark.parametrize("how", ["kept connection", "new connection", "nobody", "no names"])
def test_a_shared_list_fails_clearly_while_the_network_is_cut(cut: Json, how: str) -> None:
    assert cut["before"]["records"] == cut["after"]["records"] == 1
    assert cut[how]["code"] == "shared_unavailable"
    assert "records" not in cut[how]
    assert cut[how]["seconds"] < SOON_S


def test_hooks_and_local_lists_go_on_while_others_wait_for_the_group(cut: Json) -> None:
    before, meanwhile = cut["hooks before"], cut["hooks meanwhile"]
    assert meanwhile["answered"] == before["answered"] == 8
    assert meanwhile["median"] < 3 * before["median"] + 0.05
    assert cut["local list meanwhile"]["records"] == 0
    assert cut["local list meanwhile"]["seconds"] < 1.0
