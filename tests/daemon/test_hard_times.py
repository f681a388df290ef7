"""A daemon that runs out of memory, or is interrupted while it commits."""

import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.errors import DaemonUnavailable, MashError
from tests.support.daemons import Place
from tests.support.polling import eventually
from tests.support.transcripts import ClaudeTranscript

QUESTION = "Which vector store should we use locally?"


@pytest.fixture(autouse=True)
def session(place: Place) -> None:
    transcript = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), "s-1")
    transcript.person(QUESTION)


def candidate(statement: str) -> dict[str, Any]:
    body = {"statement": statement, "details": {"kind": "decision", "state": "proposed"}}
    change = {
        "action": "create",
        "scope": {"kind": "personal"},
        "body": body,
        "evidence": [{"session_id": "s-1", "quote": QUESTION}],
    }
    return {"operation_id": statement.replace(" ", "-"), "change": change}


@pytest.mark.row(42)
def test_a_daemon_without_memory_answers_or_ends_and_the_next_request_is_served(
    place: Place,
) -> None:
    daemon = place.start()
    place.call("record", candidate("kept before"))
    place.call("status")  # by now all threads run: Python may wait for ever for one without memory
    used = int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[5]) * resource.getpagesize()
    soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_DATA)
    resource.prlimit(daemon.pid, resource.RLIMIT_DATA, (used, hard))
    large = candidate("large")
    large["change"]["body"]["statement"] = "x" * (3 << 20)
    with pytest.raises(MashError) as caught:
        place.call("record", large)
    assert caught.value.code in ("internal", "daemon_unavailable", "too_large")
    assert "does not answer" not in caught.value.message
    # Of what is too large the next daemon has told, after the first one had ended.
    assert caught.value.code != "too_large" or place.daemons() != [daemon.pid]
    if daemon.poll() is None:
        resource.prlimit(daemon.pid, resource.RLIMIT_DATA, (soft, hard))
    place.call("record", candidate("kept after"))
    found = place.call("list_records", {"include_inactive": True})["records"]
    assert {one["statement"] for one in found} == {"kept before", "kept after"}


@pytest.mark.row(42)
def test_interrupts_amid_commits_lose_nothing(place: Place) -> None:
    acknowledged: list[str] = []
    is_over = threading.Event()

    def write(writer: int) -> None:
        number = 0
        while not is_over.is_set():
            statement = f"writer {writer} noted {number}"
            try:
                place.call("record", candidate(statement))
            except DaemonUnavailable:
                continue  # the same operation ID until it is acknowledged
            acknowledged.append(statement)
            number += 1

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for number in range(6):
        wanted = len(acknowledged) + 3 + number
        eventually(lambda: len(acknowledged) > wanted, "no progress", every_s=0.001)  # noqa: B023
        for pid in place.daemons():
            os.kill(pid, signal.SIGINT)
    is_over.set()
    for thread in threads:
        thread.join(60)
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = place.call("list_records", {"include_inactive": True, "limit": 50, "offset": offset})
        found += [one["statement"] for one in page["records"]]
        offset = page["next_offset"]
    assert sorted(found) == sorted(acknowledged)
    assert len(set(found)) == len(found)
