"""Reading records completely: one with its evidence, all of them page by page."""

from typing import Any

import orjson
import pytest

from mash_plugin.errors import Forgotten, NotFound
from tests.conftest import PROPOSAL, QUESTION, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript


def all_pages(memory: Memory, **request: Any) -> tuple[list[Json], int]:
    records: list[Json] = []
    offset: int | None = 0
    pages = 0
    while offset is not None:
        page = memory.pages(offset=offset, **request)
        assert len(orjson.dumps(page)) <= 32_768
        records += page["records"]
        offset = page["next_offset"]
        pages += 1
    return records, pages


@pytest.fixture
def every_status(memory: Memory, shop: Shop) -> dict[str, str]:
    """One record of every status, by its statement."""
    ids = {}
    for text in ("Current.", "Withdrawn.", "Stale."):
        ids[text] = memory.established(text)["id"]
        memory.clock.advance(1)
    ids["Candidate."] = memory.candidate("Candidate.")["id"]
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run("UPDATE records SET evidence_stale = 1 WHERE record_id = :id", {"id": ids["Stale."]})
        db.run(
            "UPDATE evidence SET status = 'changed' WHERE record_id = :id", {"id": ids["Stale."]}
        )
    return ids


@pytest.mark.spec("R-092", "R-093")
def test_the_list_holds_what_is_current_or_everything(
    memory: Memory, every_status: dict[str, str]
) -> None:
    current, _ = all_pages(memory)
    assert {r["statement"] for r in current} == {"Current.", "Withdrawn."}
    everything, _ = all_pages(memory, include_inactive=True)
    labels = {r["statement"]: r["status"] for r in everything}
    assert labels["Stale."] == "stale_evidence"
    assert labels["Candidate."] == "candidate"
    assert len(everything) == 4


@pytest.mark.spec("R-094", "R-097")
def test_pages_may_be_empty_before_the_end(memory: Memory, shop: Shop) -> None:
    memory.established("The one.")
    for number in range(40):
        memory.clock.advance(1)
        memory.candidate(f"Number {number}.")
    first = memory.pages(limit=20)
    assert first == {"records": [], "next_offset": 20, "more": True}
    records, pages = all_pages(memory, limit=20)
    assert [r["statement"] for r in records] == ["The one."]
    assert pages == 3
    everything, _ = all_pages(memory, limit=7, include_inactive=True)
    assert len({r["id"] for r in everything}) == len(everything) == 41
    times = [r["recorded_at"] for r in everything]
    assert times == sorted(times, reverse=True)


@pytest.mark.spec("R-095")
def test_filters_test_the_head_before_the_pages_are_cut(memory: Memory, shop: Shop) -> None:
    preference = {"kind": "preference", "state": "active"}
    asked = [{"session_id": "s-1", "quote": QUESTION}]
    for number in range(3):
        memory.create({"statement": f"P{number}.", "details": preference}, asked)
    for number in range(30):
        memory.clock.advance(1)
        memory.candidate(f"Number {number}.")
    page = memory.pages(kind="preference", include_inactive=True, limit=5)
    assert len(page["records"]) == 3
    assert page["next_offset"] is None
    assert len(memory.pages(state="active", include_inactive=True)["records"]) == 3
    assert memory.pages(review="candidate", limit=50)["records"] == []
    assert memory.pages(review="established", include_inactive=True)["records"] == []


@pytest.mark.spec("R-095")
def test_the_list_can_be_of_one_scope(memory: Memory, shop: Shop) -> None:
    memory.established("Here.")
    memory.established("Mine.", scope={"kind": "personal"})
    for scope, text in (
        ({"kind": "repository", "identity": SHOP}, "Here."),
        ({"kind": "personal"}, "Mine."),
    ):
        assert [r["statement"] for r in memory.pages(scope=scope)["records"]] == [text]
    assert len(memory.pages()["records"]) == 2


@pytest.mark.spec("R-096")
def test_the_list_can_be_of_the_records_that_cite_a_chat(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    memory.candidate("One.")
    decision = {"kind": "decision", "state": "proposed"}
    quote = "Qdrant works well"
    memory.create(
        {"statement": "Two.", "details": decision}, [{"session_id": "s-2", "quote": quote}]
    )
    page = memory.pages(chat="claude-code-s-2", include_inactive=True)
    assert [r["statement"] for r in page["records"]] == ["Two."]
    assert memory.pages(chat="nowhere", include_inactive=True)["records"] == []


@pytest.mark.spec("R-098")
def test_a_page_is_bounded_in_bytes_and_nothing_is_lost(memory: Memory, shop: Shop) -> None:
    for number in range(12):
        memory.clock.advance(1)
        memory.candidate(f"{number} " + "\u597d" * 1990)
    page = memory.pages(limit=20, include_inactive=True)
    assert 0 < len(page["records"]) < 12
    assert page["next_offset"] == len(page["records"])
    records, _ = all_pages(memory, limit=20, include_inactive=True)
    assert len({r["id"] for r in records}) == 12


@pytest.mark.spec("R-094")
def test_an_offset_beyond_the_end_is_an_empty_last_page(memory: Memory, shop: Shop) -> None:
    memory.candidate("One.")
    assert memory.pages(offset=1_000_000) == {"records": [], "next_offset": None}


@pytest.mark.spec("R-100", "R-023")
def test_a_record_is_read_with_its_evidence(memory: Memory, shop: Shop) -> None:
    asked = {"session_id": "s-1", "quote": QUESTION}
    proposed = {"session_id": "s-1", "quote": PROPOSAL, "purpose": "report"}
    decision = {"kind": "decision", "state": "proposed"}
    receipt = memory.create({"statement": "Qdrant?", "details": decision}, [asked, proposed])
    whole = memory.get(receipt["id"])
    assert whole["record"]["status"] == "candidate"
    assert whole["links"] == []
    assert whole["next_before_revision"] is None
    assert whole["next_link_offset"] is None
    (revision,) = whole["revisions"]
    assert revision["confirmation_history"] == []
    assert [(e["role"], e["purpose"]) for e in revision["evidence"]] == [
        ("user", "context"),
        ("assistant", "report"),
    ]
    assert memory.get(receipt["id"], history=True)["revisions"] == [revision]
    assert memory.get(receipt["id"], history=True, before_revision=1)["revisions"] == []


@pytest.mark.spec("R-100")
def test_unknown_and_removed_records_are_told_apart(memory: Memory) -> None:
    with pytest.raises(NotFound, match="nothing"):
        memory.get("nothing")
    with memory.call.store.writing() as db:
        db.run("INSERT INTO record_tombstones VALUES ('gone', 1)")
    with pytest.raises(Forgotten):
        memory.get("gone")
