"""Reading records completely: one with its evidence, all of them page by page."""

from typing import Any

import orjson
import pytest

from mash_plugin.errors import Forgotten, InvalidArgument, NotFound
from tests.conftest import CHOICE, PROPOSAL, QUESTION, SHOP, Json, Memory, Shop
from tests.support.planted import WIDE, planted, revision
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
@pytest.mark.row(58)
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


@pytest.mark.spec("R-095", "R-094")
@pytest.mark.parametrize(
    "request_",
    [
        {"offset": -1},
        {"offset": 2**63},
        {"offset": "0"},
        {"limit": 0},
        {"limit": 51},
        {"limit": "20"},
        {"state": "done"},
        {"cursor": "x"},
    ],
)
@pytest.mark.row(58)
def test_a_page_that_cannot_be_is_refused(memory: Memory, request_: Json) -> None:
    with pytest.raises(InvalidArgument):
        memory.pages(**request_)


@pytest.mark.spec("R-052", "R-092")
def test_a_hidden_record_is_seen_nowhere_until_it_is_brought_back(
    memory: Memory, shop: Shop
) -> None:
    kept, gone = memory.established("Kept."), memory.established("Gone.")
    target = {"id": gone["id"], "revision": 1}
    memory.change("link", kept, target=target, relation="contradicts")
    scope = {"kind": "repository", "identity": SHOP}
    assert memory.recall(scope=scope)["records"] == []
    memory.change("forget", gone)
    with pytest.raises(Forgotten, match="mash undo"):
        memory.get(gone["id"])
    for review in (False, True):
        packet = memory.recall(scope=scope, include_review=review)
        assert [r["statement"] for r in packet["records"]] == ["Kept."]
        listed = memory.pages(include_inactive=review, chat="claude-code-s-1")
        assert [r["statement"] for r in listed["records"]] == ["Kept."]
        assert [r["statement"] for r in memory.pages(include_inactive=review)["records"]] == [
            "Kept."
        ]
    whole = memory.get(kept["id"])
    assert whole["links"] == []
    assert "conflicted" not in whole["record"]
    assert memory.established("Gone.")["id"] != gone["id"]
    memory.undo(gone)
    assert memory.get(gone["id"])["links"][0]["active"] is True


@pytest.mark.spec("R-096", "R-095")
def test_every_revision_and_every_confirmation_counts_as_citing_a_chat(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    revised, confirmed = memory.established("Use Qdrant."), memory.established("Keep it local.")
    memory.change("revise", revised, body=CHOSEN, evidence=LATER)
    memory.change("confirm", confirmed, evidence=LATER)
    memory.established("Only early.")

    def of_chat(session: str, **request: Any) -> set[str]:
        page = memory.pages(chat=f"claude-code-{session}", **request)
        return {r["statement"] for r in page["records"]}

    assert of_chat("s-1") == {"Use Qdrant.", "Keep it local.", "Only early."}
    assert of_chat("s-2") == {"Use Qdrant.", "Keep it local."}
    assert of_chat("s-2", kind="preference") == set()
    assert of_chat("s-2", scope={"kind": "personal"}) == set()
    assert of_chat("s-2", scope={"kind": "repository", "identity": SHOP}, limit=1) < of_chat("s-2")


@pytest.mark.spec("R-102", "R-036")
def test_reading_changes_nothing(memory: Memory, shop: Shop) -> None:
    receipt = memory.established("Use Qdrant.")

    def rows() -> list[Any]:
        with memory.call.store.reading() as db:
            names = [r[0] for r in db.all("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return [(name, db.all(f"SELECT * FROM {name}")) for name in names]  # noqa: S608

    before = rows()
    memory.clock.advance(1_000)
    memory.get(receipt["id"], history=True)
    memory.pages(include_inactive=True, chat="claude-code-s-1")
    memory.recall(scope={"kind": "repository", "identity": SHOP}, include_review=True)
    assert rows() == before


@pytest.mark.spec("R-098")
def test_many_long_records_are_all_found_by_following_the_cursor(memory: Memory) -> None:
    for number in range(20):
        planted(memory, f"n{number:02}", revision(1, WIDE * 1_990 + str(number)))
    records, pages = all_pages(memory, limit=20)
    assert [r["id"] for r in records] == [f"n{number:02}" for number in range(20)]
    assert pages > 3


@pytest.mark.spec("R-091", "R-100")
def test_no_item_holds_a_quote(memory: Memory, shop: Shop) -> None:
    receipt = memory.established("Use Qdrant.")
    items = [
        memory.get(receipt["id"])["record"],
        *memory.pages()["records"],
        *memory.recall(scope={"kind": "repository", "identity": SHOP})["records"],
    ]
    assert len(items) == 3
    assert CHOICE not in str(items)
    assert all(item == items[0] for item in items)


@pytest.mark.spec("R-040", "R-042", "R-095")
@pytest.mark.parametrize(
    "escape",
    [
        "github.com/acme/Shop",
        "github.com/acme/shop/",
        "github.com/acme/shop.git",
        "github.com/acme/sho",
        "github.com/acme/shop/../shop2",
        "https://github.com/acme/shop",
        "git@github.com:acme/shop",
        "evil.example/github.com/acme/shop",
        "github.com/acme/%",
        "github.com/acme/_hop",
        "shop",
    ],
)
def test_only_the_exact_identity_names_a_repositorys_records(
    memory: Memory, shop: Shop, escape: str
) -> None:
    memory.established("Use Qdrant.")
    scope = {"kind": "repository", "identity": escape}
    assert memory.recall(scope=scope, include_review=True)["records"] == []
    assert memory.pages(scope=scope, include_inactive=True)["records"] == []
    assert memory.recall(scope={"kind": "personal"}, include_review=True)["records"] == []


@pytest.mark.spec("R-040", "R-041")
def test_a_folders_records_are_found_by_its_real_place_alone(
    memory: Memory, other_shop: ClaudeTranscript
) -> None:
    place = memory.projects / "w2" / "shop"
    link = memory.projects / "link"
    link.symlink_to(place)
    asked = {"session_id": "s-9", "quote": QUESTION}
    body = {"statement": "Here.", "details": {"kind": "decision", "state": "proposed"}}
    memory.create(body, [asked], scope={"kind": "local_project", "path": str(place)})

    def found(path: str) -> list[str]:
        scope = {"kind": "local_project", "path": path}
        recalled = memory.recall(scope=scope)["records"]
        listed = memory.pages(scope=scope, include_inactive=True)["records"]
        assert [r["id"] for r in recalled] == [r["id"] for r in listed]
        return [r["statement"] for r in listed]

    for same in (place, f"{place}/", f"{place}/../shop", f"//{place}", link):
        assert found(str(same)) == ["Here."], same
    for other in (
        place.parent,
        place / "src",
        place.with_name("Shop"),
        memory.projects / "w3/shop",
    ):
        assert found(str(other)) == [], other
