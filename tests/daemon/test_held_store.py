"""A store that another program, a shell or a backup tool, holds locked."""

import time
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import StoreBusy
from tests.support.daemons import Place, event
from tests.support.transcripts import ClaudeTranscript

QUESTION = "Which vector store should we use locally?"


@pytest.mark.row(38)
def test_hooks_and_reads_are_answered_while_another_program_holds_the_store(place: Place) -> None:
    transcript = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), "s-1")
    transcript.person(QUESTION)
    change = {
        "action": "create",
        "scope": {"kind": "personal"},
        "body": {"statement": "Use Qdrant.", "details": {"kind": "decision", "state": "proposed"}},
        "evidence": [{"session_id": "s-1", "quote": QUESTION}],
    }
    place.start()
    place.call("record", {"operation_id": "first", "change": change})
    holder = apsw.Connection(place.paths.store)
    holder.execute("BEGIN IMMEDIATE")
    try:
        other = {"operation_id": "second", "change": change | {"on_duplicate": "reuse"}}
        began = time.monotonic()
        with pytest.raises(StoreBusy, match="nothing was saved"):
            place.call("record", other)
        assert time.monotonic() - began < 20
        for number in range(3):
            body = event("SessionStart", session_id=f"s{number}", cwd=str(Path("/")))
            assert place.hook("session-start", body).out
        assert len(place.call("list_records", {"include_inactive": True})["records"]) == 1
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert place.call("record", other)["reused"] is True
