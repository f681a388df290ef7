"""A daemon that hears of a rewritten transcript judges the citations of its chat at once."""

from typing import Any

import pytest

from tests.support.daemons import Place, event
from tests.support.polling import eventually
from tests.support.transcripts import ClaudeTranscript

QUESTION = "Which vector store should we use locally?"


def save(place: Place, statement: str, quote: str) -> None:
    body = {"statement": statement, "details": {"kind": "decision", "state": "proposed"}}
    place.call(
        "record",
        {
            "operation_id": statement,
            "change": {
                "action": "create",
                "scope": {"kind": "personal"},
                "body": body,
                "evidence": [{"session_id": "s-1", "quote": quote}],
            },
        },
    )


def recalled(place: Place) -> list[str]:
    packet: dict[str, Any] = place.call("recall_records", {"scope": {"kind": "personal"}})
    return [record["statement"] for record in packet["records"]]


@pytest.mark.spec("R-025", "R-157")
@pytest.mark.parametrize("first_reader", ["a citing call", "a hook"])
def test_whoever_reads_a_rewritten_transcript_first_its_records_go_stale(
    place: Place, first_reader: str
) -> None:
    session = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), "s-1")
    session.person(QUESTION)
    place.start()
    save(place, "Early.", QUESTION)
    # Once the first full index is over, no other follows for a quarter of an hour.
    run = place.call("index")["run"]
    eventually(lambda: not is_indexing(place, run), "no full index")
    session.rewrite(QUESTION, "Which colour?")
    if first_reader == "a citing call":
        save(place, "Late.", "Which colour?")
        assert recalled(place) == ["Late."]
    else:
        stop = event("Stop", transcript_path=str(session.path), last_assistant_message="done")
        assert place.hook("reminder-timer", stop).is_harmless()
        eventually(lambda: recalled(place) == [], "the record stayed in recall")
    listed = place.call("list_records", {"include_inactive": True})["records"]
    assert {r["statement"]: r["status"] for r in listed}["Early."] == "stale_evidence"


def is_indexing(place: Place, run: int) -> bool:
    progress = place.call("index_progress")
    return bool(progress["running"] or progress["run"] < run)
