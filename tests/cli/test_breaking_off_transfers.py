"""Long exports and imports tell how far they are, and ^C ends them in the daemon."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mash_plugin import wire
from mash_plugin.errors import InvalidState
from tests.support.daemons import Place, impostor

Json = dict[str, Any]
HALF = {"progress": {"step": "Importing", "done": 5_000, "total": 10_000, "unit": "bytes"}}


class HeldDaemon:
    """Answers an import only when it is told to break it off."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._held: socket.socket | None = None
        self.heard: list[bytes] = []
        self.asked: list[Json] = []

    def answer(self, connection: socket.socket) -> None:
        request = json.loads(self.heard[-1])
        self.asked.append(request)
        match request["method"]:
            case "import_export":
                self._held = connection.dup()
                return
            case "break_off_transfer":
                assert self._held
                with self._held:
                    self._held.sendall(self._reply)
                connection.sendall(wire.result_line({}))
            case _:
                connection.sendall(wire.result_line(HALF))


@contextmanager
def importing(root: Path, reply: bytes) -> Iterator[tuple[subprocess.Popen[bytes], HeldDaemon]]:
    """`mash import` under way, by a daemon that holds it."""
    place, daemon = Place(root), HeldDaemon(reply)
    with impostor(place, daemon.answer) as daemon.heard:
        process = subprocess.Popen(
            [sys.executable, "-m", "mash_plugin", "import", "mine.gz", "--yes", "--keep-identity"],
            env=place.environment,
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        yield process, daemon


def test_an_interrupt_breaks_the_import_off_and_waits_for_its_end(tmp_path: Path) -> None:
    failure = wire.error_line(InvalidState("Broken off: nothing was changed."))
    with importing(tmp_path, failure) as (process, daemon):
        assert process.stderr
        assert process.stderr.readline() == b"Importing ...\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert err == (
        b"Breaking off ...\nmash: Broken off: nothing was changed.\nmash: interrupted.\n"
    )
    first, last = daemon.asked[0], daemon.asked[-1]
    assert (first["method"], last["method"]) == ("import_export", "break_off_transfer")
    assert last["params"] == {"run": first["params"]["run"]}


def test_what_was_done_before_the_interrupt_came_is_told_as_done(tmp_path: Path) -> None:
    already = {"import_id": "1", "records": 2, "imported_at": 0}
    done: Json = {"header": {}, "counts": {}, "already": already, "notice": None}
    with importing(tmp_path, wire.result_line(done)) as (process, _):
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, b"2 records, import 1" in out) == (0, True)


@pytest.mark.spec("R-161")
def test_the_daemon_does_nothing_of_what_was_broken_off_and_then_does_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    request = {"path": str(tmp_path / "mine.gz"), "run": "1"}
    try:
        place.start()
        place.call("break_off_transfer", {"run": "1"})  # read before the export itself
        with pytest.raises(InvalidState, match="nothing was changed"):
            place.call("export", request)
        assert list(tmp_path.glob("*mine.gz*")) == []
        assert place.call("transfer_progress", {"run": "1"}) == {"progress": None}
        assert place.call("export", request)["complete"]
    finally:
        place.close()
