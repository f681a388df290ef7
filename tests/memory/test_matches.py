"""Looking for records that say the same, before one is saved."""

from typing import Any

import pytest

from mash_plugin.errors import ChatNotFound, InvalidArgument, RecordsDisabled, TooLarge
from mash_plugin.memory.matches import find_record_matches
from mash_plugin.protocol import validate
from mash_plugin.protocol.results import RESULTS
from mash_plugin.records.model import Body, Revision, Scope
from mash_plugin.store.changes import hide, insert_record
from mash_plugin.store.operations import identity_of
from mash_plugin.store.queries import load
from tests.conftest import CHOICE, QUESTION, SHOP, Json, Memory, Shop

REPOSITORY = {"kind": "repository", "identity": SHOP}
SKETCH = {"kind": "decision"}
NUMBERS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def find(memory: Memory, statement: str, **body: Any) -> Json:
    details = {"kind": "decision", **body.pop("details", {})}
    scope = body.pop("scope", REPOSITORY)
    request = {"scope": scope, "body": {"statement": statement, "details": details, **body}}
    return find_record_matches(memory.call_now(), validate("find_record_matches", request))


def ids(result: Json) -> list[str]:
    return [match["record"]["id"] for match in result["matches"]]


def revise(memory: Memory, record: Json, statement: str, state: str, **body: Any) -> Json:
    details = {"kind": "decision", "state": state}
    return memory.record(
        {
            "operation_id": f"revise-{next(memory.numbers)}",
            "change": {
                "action": "revise",
                "expected": {"id": record["id"], "revision": record["revision"]},
                "body": {"statement": statement, "details": details, **body},
                "evidence": [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}],
            },
        }
    )


@pytest.mark.spec("R-108", "R-109")
def test_at_most_eight_are_shown_the_best_and_then_the_newest_first(
    memory: Memory, shop: Shop
) -> None:
    saved = []
    for word in NUMBERS:
        memory.clock.advance(1)
        saved.append(memory.candidate(f"Search locally with the store named {word}.")["id"])
    result = find(memory, "search locally with the store named gamma")
    found = ids(result)
    assert found == [saved[2], *[i for i in reversed(saved) if i != saved[2]][:7]]
    assert [m["match"] for m in result["matches"]] == ["exact"] + 7 * ["similar"]
    scores = [m["score"] for m in result["matches"]]
    assert scores == sorted(scores, reverse=True)
    assert result["scan_limited"] is False
    RESULTS["find_record_matches"].model_validate(result)


@pytest.mark.spec("R-108")
def test_another_scope_or_kind_is_never_shown(memory: Memory, shop: Shop) -> None:
    said = {"session_id": "s-1", "quote": QUESTION}
    fact = {"kind": "fact", "state": "current", "reported_by": "the person"}
    memory.create({"statement": "Search uses Qdrant.", "details": fact}, [said])
    memory.candidate("Search uses Qdrant.", scope={"kind": "personal"})
    memory.candidate("Search uses Qdrant.", scope={"kind": "chat", "id": shop.chat})
    folder = str(memory.projects / "w" / "shop")
    memory.candidate("Search uses Qdrant.", scope={"kind": "local_project", "path": folder})
    assert find(memory, "Search uses Qdrant.") == {"matches": [], "scan_limited": False}
    assert len(find(memory, "Search uses Qdrant.", scope={"kind": "personal"})["matches"]) == 1


@pytest.mark.spec("R-108")
def test_only_the_256_newest_are_compared_and_it_says_so(memory: Memory, shop: Shop) -> None:
    oldest = memory.candidate("Invoices are rendered with Typst.")["id"]
    for number in range(255):
        memory.clock.advance(1)
        memory.candidate(f"Something else, number {number}.")
    result = find(memory, "Invoices are rendered with Typst.")
    assert ids(result) == [oldest]
    assert result["scan_limited"] is False
    memory.clock.advance(1)
    memory.candidate("One more.")
    result = find(memory, "Invoices are rendered with Typst.")
    assert result == {"matches": [], "scan_limited": True}


@pytest.mark.spec("R-108")
def test_the_window_is_an_index_search_that_needs_no_sorting(memory: Memory) -> None:
    names = ("owner_id", "scope_kind", "scope_value", "kind", "count")
    with memory.call.store.reading() as db:
        plan = db.all(
            f"EXPLAIN QUERY PLAN {load('matches').newest_of_kind}", dict.fromkeys(names, 1)
        )
    steps = [row[3] for row in plan]
    assert steps[0].startswith("SEARCH r USING INDEX records_kind")
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps)


@pytest.mark.spec("R-109")
def test_each_match_shows_what_became_of_it(memory: Memory, shop: Shop) -> None:
    withdrawn = memory.candidate("Search uses Qdrant, plan one.")
    revise(memory, withdrawn, "Search uses Qdrant, plan one.", "withdrawn")
    candidate = memory.candidate("Search uses Qdrant, plan two.")
    current = memory.established("Search uses Qdrant, plan three.")
    stale = memory.established("Search uses Qdrant, plan four.")
    with memory.call.store.writing() as db:
        db.run("UPDATE records SET evidence_stale = 1 WHERE record_id = :id", {"id": stale["id"]})
    shown = {m["record"]["id"]: m["record"] for m in find(memory, "Search uses Qdrant")["matches"]}
    assert {i: r["status"] for i, r in shown.items()} == {
        withdrawn["id"]: "inactive",
        candidate["id"]: "candidate",
        current["id"]: "current",
        stale["id"]: "stale_evidence",
    }
    assert shown[withdrawn["id"]]["state"] == "withdrawn"
    assert shown[stale["id"]]["evidence"] == "stale"


@pytest.mark.spec("R-109")
def test_a_disagreement_is_shown(memory: Memory, shop: Shop) -> None:
    one, two = memory.established("Search uses Qdrant."), memory.established("Search uses Milvus.")
    memory.record(
        {
            "operation_id": "disagree",
            "change": {
                "action": "link",
                "expected": {"id": one["id"], "revision": 1},
                "target": {"id": two["id"], "revision": 1},
                "relation": "contradicts",
            },
        }
    )
    matches = find(memory, "Search uses Qdrant")["matches"]
    assert [m["record"]["conflicted"] for m in matches] == [True, True]


@pytest.mark.spec("R-109")
def test_identical_is_what_create_would_refuse(memory: Memory, shop: Shop) -> None:
    record = memory.candidate("Use Qdrant.")

    def told(statement: str = "Use Qdrant.", **body: Any) -> list[bool]:
        return [m["identical"] for m in find(memory, statement, **body)["matches"]]

    whole = {"state": "proposed"}
    assert told(details=whole) == [True]
    assert told(details=whole, recorded_by="somebody else") == [True]
    assert told() == [False]  # without a state nobody can tell
    assert told(details=whole, review="established") == [False]
    assert told(details={"state": "accepted"}) == [False]
    assert told("use qdrant", details=whole) == [False]
    revise(memory, record, "Use Qdrant.", "withdrawn")
    assert told(details={"state": "withdrawn"}) == [False]  # a retired record never matches


@pytest.mark.spec("R-109")
def test_a_fact_is_identical_only_with_who_reported_it(memory: Memory, shop: Shop) -> None:
    fact = {"kind": "fact", "state": "current", "reported_by": "the person"}
    said = {"session_id": "s-1", "quote": QUESTION}
    memory.create({"statement": "Staging has no GPU.", "details": fact}, [said])
    for details, identical in (
        (fact, True),
        ({**fact, "reported_by": "a page"}, False),
        ({"kind": "fact", "state": "current"}, False),
    ):
        (match,) = find(memory, "Staging has no GPU.", details=details)["matches"]
        assert match["identical"] is identical


@pytest.mark.spec("R-108")
def test_a_hidden_record_is_not_shown(memory: Memory, shop: Shop) -> None:
    record = memory.candidate("Use Qdrant.")
    with memory.call.store.writing() as db:
        hide(db, record["id"], memory.clock.now, None)
    assert find(memory, "Use Qdrant.")["matches"] == []


@pytest.mark.spec("R-110", "R-036")
def test_looking_for_matches_changes_nothing(memory: Memory, shop: Shop) -> None:
    memory.candidate("Use Qdrant.")

    def dump() -> list[Any]:
        with memory.call.store.reading() as db:
            tables = [t for (t,) in db.all("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return [db.all(f"SELECT * FROM {table}") for table in tables]  # noqa: S608

    before = dump()
    for _ in range(10):
        assert find(memory, "Use Qdrant.")["matches"]
    assert dump() == before


def test_a_project_that_is_left_out_is_refused(memory: Memory, shop: Shop) -> None:
    memory.candidate("Use Qdrant.")
    memory.set(deny=(SHOP,))
    with pytest.raises(RecordsDisabled):
        find(memory, "Use Qdrant.")


def test_an_unknown_chat_is_named(memory: Memory, shop: Shop) -> None:
    with pytest.raises(ChatNotFound, match="no-such-chat"):
        find(memory, "Use Qdrant.", scope={"kind": "chat", "id": "no-such-chat"})
    memory.index()
    scope = {"kind": "chat", "id": shop.chat}
    assert find(memory, "Use Qdrant.", scope=scope)["matches"] == []


@pytest.mark.spec("R-177")
def test_a_credential_in_an_old_row_is_masked(memory: Memory, shop: Shop) -> None:
    token = "ghp_" + "a1B2" * 9
    body = Body("decision", "proposed", f"Deploy with the team's token {token}.", "me")
    with memory.call.store.writing() as db:
        insert_record(
            db,
            "old",
            identity_of(db).owner,
            Scope("repository", SHOP),
            Revision(1, body, memory.clock.now, ()),
            b"",
            ("", ""),
        )
    (match,) = find(memory, "Deploy with the team's token")["matches"]
    assert match["record"]["id"] == "old"
    assert token not in match["record"]["statement"]


def test_a_damaged_record_is_reported_and_not_shown(memory: Memory, shop: Shop) -> None:
    record = memory.candidate("Use Qdrant.")
    damaged: list[str] = []
    memory.call = memory.call._replace(on_damaged=damaged.append)
    with memory.call.store.writing() as db:
        db.run("DROP TRIGGER revisions_immutable")
        db.run("UPDATE revisions SET statement = 'Use qdrant.'")
    assert find(memory, "Use Qdrant.")["matches"] == []
    assert damaged == [record["id"]]


@pytest.mark.spec("R-108", "R-004")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"details": SKETCH}, InvalidArgument),
        ({"statement": "Use Qdrant."}, InvalidArgument),
        ({"statement": "Use Qdrant.", "details": {"kind": "note"}}, InvalidArgument),
        ({"statement": "Use Qdrant.", "details": {**SKETCH, "state": "active"}}, InvalidArgument),
        (
            {"statement": "Use Qdrant.", "details": {**SKETCH, "reported_by": "x"}},
            InvalidArgument,
        ),
        ({"statement": "Use Qdrant.", "details": SKETCH, "revue": "x"}, InvalidArgument),
        ({"statement": "x" * 2001, "details": SKETCH}, TooLarge),
    ],
)
def test_a_body_that_could_not_be_saved_is_refused(body: Json, error: type[Exception]) -> None:
    with pytest.raises(error):
        validate("find_record_matches", {"scope": REPOSITORY, "body": body})
