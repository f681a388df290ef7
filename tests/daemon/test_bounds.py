"""What grows in a daemon with what others ask of it has a bound."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mash_plugin import connecting, wire
from mash_plugin.chats.mentions import KEPT as MENTIONS_KEPT
from mash_plugin.chats.mentions import Mentions
from mash_plugin.chats.project import Project
from mash_plugin.daemon import workers
from mash_plugin.daemon.branch import KEPT as BRANCHES_KEPT
from mash_plugin.daemon.branch import Branches
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import ENDED_REMEMBERED, GROWN_REMEMBERED, PLACES_REMEMBERED, Node
from mash_plugin.daemon.requests import Requests
from mash_plugin.daemon.server import Limits
from mash_plugin.daemon.transfer import MOST_TRANSFERS, break_off_transfer
from mash_plugin.daemon.workers import Workers
from mash_plugin.memory import browse
from mash_plugin.memory.call import Caller
from mash_plugin.memory.windows import KEPT as WINDOWS_KEPT
from mash_plugin.memory.windows import Windows
from mash_plugin.records.model import Scope
from tests.support.daemons import Place
from tests.support.polling import eventually


def test_leases_are_counted_and_one_too_many_is_closed(place: Place) -> None:
    place.start()
    most = Limits().leases
    with ExitStack() as stack:
        held = []
        for _ in range(most + 5):
            connection = connecting.connect(place.paths, 10.0)
            assert connection is not None
            held.append(stack.enter_context(connection))
            connection.sendall(wire.LEASE_LINE)
        # Which ones is not said: those that wait are read in any order.
        eventually(lambda: sum(map(_is_closed, held)) == 5, "too many are held, or too few")
        assert place.call("status", start=False)["load"]["leases"] == most
    eventually(lambda: place.call("status")["load"]["leases"] == 0, "leases stay")


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False


def test_transcripts_that_wait_are_bounded_and_the_index_finds_the_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MOST_TRANSCRIPTS", 3)
    monkeypatch.setattr(workers, "TRANSCRIPTS_AFTER_S", 3600.0)
    monkeypatch.setattr(workers, "FIRST_INDEX_AFTER_S", 3600.0)
    node = Node(place.paths, 0, {})
    for number in range(2 * GROWN_REMEMBERED):
        node.index_soon("codex", f"/nowhere/{number}.jsonl")
    assert len(node.grown) == GROWN_REMEMBERED
    node.grown.clear()
    background = Workers(node, Log(str(Path(place.root) / "log")))
    try:
        for number in range(3):
            node.index_soon("codex", f"/nowhere/{number}.jsonl")
        assert background.index_run.number == 0
        node.index_soon("codex", "/nowhere/one-more.jsonl")
        eventually(lambda: background.index_run.report, "the whole index was not read")
        assert len(background._waiting) == 3
    finally:
        background.close()
        node.close()


@pytest.fixture
def node(place: Place) -> Iterator[Node]:
    made = Node(place.paths, 0, {})
    yield made
    made.close()


def test_what_a_daemon_remembers_of_callers_is_bounded(node: Node) -> None:
    for number in range(400):
        node.settings({"MASH_RECORD_CAPTURE": f"odd-{number}"})
        node.call(Caller(), 0, {"CODEX_HOME": f"/home/{number}/.codex"})
        node.session_ended(f"s-{number}")
    assert len(node._settings) <= 65
    assert len(node._places) == PLACES_REMEMBERED + 1
    assert len(node.ended_sessions) == ENDED_REMEMBERED
    assert f"s-{399}" in node.ended_sessions


def test_what_is_kept_of_scopes_files_and_branches_is_bounded(node: Node, tmp_path: Path) -> None:
    windows, mentions, branches = Windows(), Mentions(node.chats.database), Branches({})
    project = Project(str(tmp_path), None)
    with node.store.reading() as db:
        for number in range(3 * WINDOWS_KEPT):
            windows.find(db, [Scope("local_project", f"/w/{number}")], 0)
    for number in range(3 * MENTIONS_KEPT):
        mentions.chats(project, f"src/{number}.py", 3, None)
    for number in range(3 * BRANCHES_KEPT):
        part = branches.ask(str(tmp_path / str(number)), lambda _why: None)
        part.value(time.monotonic() + 10)
    assert 0 < len(windows._kept) <= WINDOWS_KEPT
    assert 0 < len(mentions._kept) <= MENTIONS_KEPT
    assert 0 < len(branches._known) <= BRANCHES_KEPT
    assert not branches._asked


def test_what_was_counted_for_pages_is_bounded(node: Node) -> None:
    for number in range(3 * browse.COUNTED_KEPT):
        browse.view_days(node.call(Caller(), 0, {}), {"since": number})
    assert 0 < len(browse._counted) <= browse.COUNTED_KEPT


def test_transfers_that_nobody_began_are_bounded(place: Place) -> None:
    requests = Requests(place.paths, Log(str(place.root / "log")))
    for number in range(3 * MOST_TRANSFERS):
        break_off_transfer(requests, {"run": f"made-up-{number}"})
    assert len(requests.transfers) == MOST_TRANSFERS
