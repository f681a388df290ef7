"""The history and the links of a record, page by page."""

from itertools import chain
from typing import Any

import orjson
import pytest

from mash_plugin.errors import InvalidArgument
from mash_plugin.protocol.results import RESULTS
from tests.conftest import CHOICE, Json, Memory, Shop
from tests.support.planted import WIDE, linked, planted, revision
from tests.support.transcripts import ClaudeTranscript

CHOSEN: Json = {
    "statement": "Use Qdrant.",
    "review": "established",
    "details": {"kind": "decision", "state": "accepted"},
}
SAID: list[Json] = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
LATER: list[Json] = [
    {"session_id": "s-2", "quote": "Qdrant works well, keep it.", "purpose": "endorsement"}
]
PAGE_BYTES = 32_768


def history(memory: Memory, record_id: str, **request: Any) -> list[list[int]]:
    """The numbers of the revisions of each page; every page fits the protocol."""
    pages: list[list[int]] = []
    cursor: Json = {}
    while True:
        whole = memory.get(record_id, history=True, **request, **cursor)
        RESULTS["get_record"].model_validate(whole)
        assert len(orjson.dumps(whole)) <= PAGE_BYTES or len(whole["revisions"]) == 1
        pages.append([r["revision"] for r in whole["revisions"]])
        if whole["next_before_revision"] is None:
            return pages
        cursor = {"before_revision": whole["next_before_revision"]}


def all_links(memory: Memory, record_id: str) -> list[list[Json]]:
    """The links page by page."""
    pages: list[list[Json]] = []
    offset: int | None = 0
    while offset is not None:
        whole = memory.get(record_id, link_offset=offset)
        assert len(orjson.dumps(whole)) <= PAGE_BYTES
        pages.append(whole["links"])
        offset = whole["next_link_offset"]
    return pages


@pytest.mark.spec("R-104", "R-101")
def test_the_history_comes_in_pages_of_eight_newest_first(memory: Memory) -> None:
    planted(memory, "long", *(revision(n, f"Wording {n}.") for n in range(1, 20)))
    pages = history(memory, "long")
    assert [len(page) for page in pages] == [8, 8, 3]
    assert list(chain(*pages)) == list(range(19, 0, -1))
    assert [len(page) for page in history(memory, "long", limit=1)] == [1] * 19
    assert [len(page) for page in history(memory, "long", limit=20)] == [19]
    (only,) = memory.get("long")["revisions"]
    assert only["revision"] == 19


@pytest.mark.spec("R-104")
@pytest.mark.parametrize(
    "request_",
    [
        {"limit": 8},
        {"before_revision": 8},
        {"history": True, "limit": 0},
        {"history": True, "limit": 21},
        {"history": True, "limit": "8"},
        {"history": True, "limit": 8.0},
        {"history": True, "before_revision": 0},
        {"history": True, "before_revision": 2**63},
        {"history": True, "before_revision": "8"},
        {"link_offset": -1},
        {"link_offset": 2**63},
        {"link_offset": "x"},
        {"link_offset": True},
        {"offset": 1},
    ],
)
def test_a_cursor_that_is_none_is_refused(memory: Memory, request_: Json) -> None:
    planted(memory, "one", revision(1, "One."))
    with pytest.raises(InvalidArgument):
        memory.get("one", **request_)


@pytest.mark.spec("R-094", "R-104", "R-106")
def test_a_cursor_of_another_record_or_beyond_the_end_is_an_empty_end(memory: Memory) -> None:
    planted(memory, "two", revision(1, "One."), revision(2, "Two."))
    whole = memory.get("two", history=True, before_revision=1, link_offset=999_999_999)
    assert (whole["revisions"], whole["next_before_revision"]) == ([], None)
    assert (whole["links"], whole["next_link_offset"]) == ([], None)
    far = memory.get("two", history=True, before_revision=999_999_999)
    assert [r["revision"] for r in far["revisions"]] == [2, 1]
    assert memory.pages(offset=1_000_000_000) == {"records": [], "next_offset": None}


@pytest.mark.spec("R-105")
def test_a_revision_written_while_paging_moves_no_cursor(memory: Memory, shop: Shop) -> None:
    receipt = memory.established("Wording 1.")
    for number in range(2, 11):
        body = {**CHOSEN, "statement": f"Wording {number}."}
        receipt = memory.change("revise", receipt, body=body, evidence=SAID)
    first = memory.get(receipt["id"], history=True, limit=4)
    assert [r["revision"] for r in first["revisions"]] == [10, 9, 8, 7]
    memory.change("revise", receipt, body=CHOSEN, evidence=SAID)
    second = memory.get(
        receipt["id"], history=True, limit=20, before_revision=first["next_before_revision"]
    )
    assert [r["revision"] for r in second["revisions"]] == [6, 5, 4, 3, 2, 1]
    assert second["record"]["revision"] == 11


@pytest.mark.spec("R-107", "R-098")
def test_revisions_of_the_greatest_size_come_one_by_one_and_all(memory: Memory) -> None:
    quotes = [WIDE * 4_000] * 2
    revisions = [revision(n, WIDE * 1_990 + f" {n}.", quotes) for n in range(1, 21)]
    planted(memory, "huge", *revisions)
    pages = history(memory, "huge", limit=20)
    assert list(chain(*pages)) == list(range(20, 0, -1))
    assert len(pages) == 20


@pytest.mark.spec("R-107")
def test_a_revision_longer_than_a_page_stands_alone(memory: Memory) -> None:
    small = [revision(n, f"Small {n}.") for n in (1, 2)]
    huge = revision(3, "Huge.", [WIDE * 4_000] * 32)
    planted(memory, "mixed", *small, huge, *(revision(n, f"Small {n}.") for n in (4, 5)))
    planted(memory, "other", revision(1, "Other."))
    linked(memory, "mixed", "other")
    assert history(memory, "mixed") == [[5, 4], [3], [2, 1]]
    whole = memory.get("mixed", history=True, before_revision=4)
    assert len(whole["revisions"][0]["evidence"]) == 32
    assert len(whole["links"]) == 1


@pytest.mark.spec("R-101", "R-107")
def test_a_damaged_revision_is_passed_over_and_the_history_goes_on(memory: Memory) -> None:
    damaged: list[str] = []
    memory.call = memory.call._replace(on_damaged=damaged.append)
    planted(memory, "worn", *(revision(n, f"Wording {n}.") for n in range(1, 14)))
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run("UPDATE revisions SET statement = 'Forged.' WHERE revision IN (3, 4, 5, 6)")
    assert history(memory, "worn", limit=2) == [[13, 12], [11, 10], [9, 8], [7], [], [2], [1]]
    assert set(damaged) == {"worn"}


@pytest.mark.spec("R-103", "R-010")
def test_each_revision_tells_when_it_was_confirmed_not_when_it_was_said(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")
    told_at = memory.clock.advance(86_400_000)
    for _ in range(2):
        memory.change("confirm", first, evidence=LATER)
        memory.clock.advance(1_000)
    (confirmed,) = memory.get(first["id"])["revisions"]
    (entry,) = confirmed["confirmation_history"]
    assert entry["confirmed_at"] == told_at
    assert entry["message_id"] in {e["message_id"] for e in confirmed["evidence"]}
    memory.change("revise", first, body={**CHOSEN, "statement": "Corrected."}, evidence=SAID)
    second, first_told = memory.get(first["id"], history=True)["revisions"]
    assert second["confirmation_history"] == []
    assert first_told["confirmation_history"] == [entry]
    assert memory.get(first["id"])["record"]["confirmations"] == 0


@pytest.mark.spec("R-101")
def test_a_replacement_is_named_from_both_sides(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    chain = [first]
    for text in ("Use Milvus.", "Use SQLite."):
        memory.clock.advance(1)
        body = {**CHOSEN, "statement": text}
        chain.append(memory.change("supersede", chain[-1], body=body, evidence=SAID))

    def neighbours(receipt: Json) -> list[tuple[str, str, str]]:
        links = memory.get(receipt["id"], history=True)["links"]
        return [(link["relation"], link["direction"], link["statement"]) for link in links]

    assert neighbours(chain[0]) == [("supersedes", "incoming", "Use Milvus.")]
    assert neighbours(chain[1]) == [
        ("supersedes", "outgoing", "Use Qdrant."),
        ("supersedes", "incoming", "Use SQLite."),
    ]
    assert neighbours(chain[2]) == [("supersedes", "outgoing", "Use Milvus.")]
    old, new = memory.get(first["id"])["links"][0], memory.get(chain[1]["id"])["links"][0]
    assert (old["id"], old["state"], new["id"]) == (chain[1]["id"], "superseded", first["id"])


@pytest.mark.spec("R-106")
def test_links_have_pages_of_their_own(memory: Memory) -> None:
    planted(memory, "hub", revision(1, "Hub."))
    for number in range(300):
        planted(memory, f"n{number}", revision(1, f"Neighbour {number}."))
        ends = ("hub", f"n{number}") if number % 2 else (f"n{number}", "hub")
        linked(memory, *ends)
    pages = all_links(memory, "hub")
    assert [len(page) for page in pages] == [128, 128, 44]
    assert [link["id"] for link in chain(*pages)] == [f"n{number}" for number in range(300)]
    assert {link["direction"] for link in pages[0]} == {"incoming", "outgoing"}
    # A page of the history leaves most of its room to the revisions.
    whole = memory.get("hub", history=True)
    assert 0 < len(whole["links"]) < 128
    assert whole["next_link_offset"] == len(whole["links"])


@pytest.mark.spec("R-107", "R-106")
def test_links_to_long_records_are_bounded_in_bytes_and_none_is_lost(memory: Memory) -> None:
    planted(memory, "hub", revision(1, WIDE * 2_000, [WIDE * 2_000]))
    for number in range(12):
        planted(memory, f"n{number:02}", revision(1, WIDE * 1_990 + str(number)))
        linked(memory, "hub", f"n{number:02}")
    pages = all_links(memory, "hub")
    assert len(pages) > 4
    assert [link["id"] for link in chain(*pages)] == [f"n{number:02}" for number in range(12)]


@pytest.mark.spec("R-057", "R-106")
def test_a_link_tells_whether_both_its_ends_are_in_force(memory: Memory, shop: Shop) -> None:
    ends = memory.clock.now + 1_000
    fact = {"kind": "fact", "state": "current", "reported_by": "them", "valid_until": ends}
    claimed = [{"session_id": "s-1", "quote": CHOICE, "purpose": "report"}]
    body = {"statement": "Ends.", "review": "established", "details": fact}
    one, two = memory.create(body, claimed), memory.established("Stays.")
    target = {"id": two["id"], "revision": 1}
    memory.change("link", one, target=target, relation="contradicts")
    assert [memory.get(r["id"])["links"][0]["active"] for r in (one, two)] == [True, True]
    assert memory.get(two["id"])["record"]["conflicted"] is True
    memory.clock.advance(1_000)
    assert [memory.get(r["id"])["links"][0]["active"] for r in (one, two)] == [False, False]
    assert "conflicted" not in memory.get(two["id"])["record"]
    assert [r["statement"] for r in memory.pages()["records"]] == ["Stays."]


@pytest.mark.spec("R-100")
def test_a_revision_written_at_the_terminal_says_so(memory: Memory) -> None:
    planted(memory, "own", revision(1, "Said."), revision(2, "Typed.")._replace(origin="terminal"))
    typed, said = memory.get("own", history=True)["revisions"]
    assert typed["origin"] == "by the person at the terminal"
    assert "origin" not in said
    RESULTS["get_record"].model_validate(memory.get("own"))
