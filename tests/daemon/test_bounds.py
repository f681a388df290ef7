"""What grows in a daemon with what others ask of it has a bound."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from mash_plugin import client, wire
from mash_plugin.daemon import workers
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import GROWN_REMEMBERED, Node
from mash_plugin.daemon.server import Limits
from mash_plugin.daemon.workers import Workers
from tests.support.daemons import Place
from tests.support.polling import eventually


def test_leases_are_counted_and_one_too_many_is_closed(place: Place) -> None:
    place.start()
    most = Limits().leases
    with ExitStack() as stack:
        held = []
        for _ in range(most + 5):
            connection = client.connect(place.paths, 10.0)
            assert connection is not None
            held.append(stack.enter_context(connection))
            connection.sendall(wire.LEASE_LINE)
        assert [one.recv(1) for one in held[most:]] == [b""] * 5
        assert place.call("status", start=False)["load"]["leases"] == most
    eventually(lambda: place.call("status")["load"]["leases"] == 0, "leases stay")


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
        assert len(background._due.transcripts) == 3
    finally:
        background.close()
        node.close()
