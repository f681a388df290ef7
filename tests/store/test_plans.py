"""The statements that read many records walk an index and look up what they show, no more."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from mash_plugin.paths import Paths
from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store import queries
from mash_plugin.store.changes import insert_record
from mash_plugin.store.open import open_store
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import list_heads, window, window_changes_at
from mash_plugin.store.sqlite import Connection, Database
from tests.conftest import NOW

SQL = SimpleNamespace(**vars(queries.load("records")), **vars(queries.load("changes")))
SCOPE = Scope("repository", "github.com/acme/large")
WINDOW = 256
COUNT = 600
PLACE: dict[str, Any] = {"scope_kind": SCOPE.kind, "scope_value": SCOPE.value}
FILTERS: dict[str, Any] = {"kind": None, "state": None, "review": None, "count": 21, "start": 0}


@pytest.fixture
def store(home: Paths) -> Iterator[Database]:
    """A scope with far more records than a window, and another one."""
    database = open_store(home, NOW)
    with database.writing() as db:
        owner = identity_of(db).owner
        for number in range(COUNT):
            for scope in (SCOPE, Scope("repository", "github.com/acme/small"))[: 2 - number % 2]:
                add(db, owner, scope, number)
    yield database
    database.close()


def add(db: Connection, owner: str, scope: Scope, number: int, **body: Any) -> None:
    statement = f"Number {number}."
    evidence = Evidence(f"chat{number % 7}", f"m{number}", "So.", "report", "user", "person", "So.")
    first = Revision(
        1,
        Body("fact", "current", statement, "tests", "established", **body),
        NOW + number,
        (evidence,),
    )
    insert_record(
        db, f"{scope.value[16:]}-{number:05}", owner, scope, first, b"", (statement, "So.")
    )


def plan(db: Connection, statement: str, **params: Any) -> list[str]:
    """What SQLite will do, a line each."""
    return [row[3] for row in db.all(f"EXPLAIN QUERY PLAN {statement}", params)]


def looks_up_late(db: Connection, statement: str, **params: Any) -> bool:
    """Whether the row of a record is read only once the index let it through."""
    return "DeferredSeek" in {row[1] for row in db.all(f"EXPLAIN {statement}", params)}


@pytest.mark.spec("R-081")
def test_the_window_of_a_large_scope_is_searched_by_index(store: Database) -> None:
    with store.reading() as db:
        place = {**PLACE, "owner_id": identity_of(db).owner, "now": NOW, "count": WINDOW + 1}
        steps = plan(db, SQL.window, **place)
        assert steps[0].startswith("SEARCH records USING INDEX records_window (owner_id=?")
        assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps)
        tested = {"effective_at", "valid_until", "hidden_at"}
        assert tested <= columns_of(db, "records_window")
        assert looks_up_late(db, SQL.window, **place)
        found = window(db, place["owner_id"], SCOPE, NOW + COUNT, WINDOW + 1, include_review=False)
    assert len(found) == WINDOW + 1
    assert found[0].id == f"large-{COUNT - 1:05}"


@pytest.mark.spec("R-081", "R-084")
def test_the_window_for_a_review_is_searched_by_index(store: Database) -> None:
    with store.reading() as db:
        owner = identity_of(db).owner
        part = {**PLACE, "owner_id": owner, "retired": 0, "evidence_stale": 0, "count": 257}
        (step,) = plan(db, SQL.review_window, **part)
        assert step.startswith("SEARCH records USING INDEX records_window (owner_id=?")
        assert "evidence_stale=?" in step
        found = window(db, owner, SCOPE, NOW, WINDOW + 1, include_review=True)
    assert len(found) == WINDOW + 1


@pytest.mark.spec("R-006")
def test_the_next_change_of_a_window_is_searched_by_index(store: Database) -> None:
    with store.writing() as db:
        owner = identity_of(db).owner
        add(db, owner, SCOPE, COUNT + 1, valid_until=NOW + 5_000)
        add(db, owner, SCOPE, COUNT + 2, effective_at=NOW + 4_000)
        steps = plan(db, SQL.window_changes_at, **PLACE, owner_id=owner, now=NOW)
        assert not any(step.startswith("SCAN") for step in steps)
        assert window_changes_at(db, owner, SCOPE, NOW) == NOW + 4_000
        assert window_changes_at(db, owner, SCOPE, NOW + 4_000) == NOW + 5_000
        assert window_changes_at(db, owner, SCOPE, NOW + 5_000) is None


@pytest.mark.spec("R-081", "R-006")
def test_what_has_ended_takes_no_place_in_the_window(store: Database) -> None:
    with store.writing() as db:
        owner = identity_of(db).owner
        for number in range(COUNT, 2 * COUNT):
            add(db, owner, SCOPE, number, valid_until=NOW + number + 1)
        now = NOW + 2 * COUNT
        found = window(db, owner, SCOPE, now, WINDOW + 1, include_review=False)
    assert [head.id for head in found[:2]] == [f"large-{COUNT - 1:05}", f"large-{COUNT - 2:05}"]
    assert len(found) == WINDOW + 1


@pytest.mark.spec("R-095", "R-097")
@pytest.mark.parametrize("asked", [{}, PLACE, {"kind": "fact"}, {"review": "candidate"}])
def test_the_list_walks_its_index_in_order(store: Database, asked: dict[str, Any]) -> None:
    request = {"scope_kind": None, "scope_value": None, **FILTERS, **asked}
    with store.reading() as db:
        assert plan(db, SQL.list_heads, **request) == ["SCAN records USING INDEX records_list"]
        assert looks_up_late(db, SQL.list_heads, **request)
        assert {"hidden_at", *request} - {"count", "start"} <= columns_of(db, "records_list")


@pytest.mark.spec("R-096")
def test_the_records_of_a_chat_are_searched_by_index(store: Database) -> None:
    request = {"scope_kind": None, "scope_value": None, **FILTERS, "chat_id": "chat3"}
    with store.reading() as db:
        steps = plan(db, SQL.list_heads_of_chat, **request)
        assert not any(step.startswith("SCAN") for step in steps)
        assert any("evidence_by_chat (chat_id=?)" in step for step in steps)
        every = list_heads(db, None, None, None, None, "chat3", 0, 2 * COUNT)
        pages = [
            list_heads(db, None, None, None, None, "chat3", at, 50) for at in range(0, 250, 50)
        ]
    assert [head for page in pages for head in page] == every
    assert len(every) == sum(2 - number % 2 for number in range(3, COUNT, 7))


@pytest.mark.spec("R-057", "R-106")
@pytest.mark.parametrize(
    ("statement", "params"),
    [
        ("conflicted_among", {"record_ids": '["large-00001"]', "now": NOW}),
        ("list_links", {"record_id": "large-00001", "start": 0, "count": 129}),
        ("list_revisions", {"record_id": "large-00001", "before": None, "count": 9}),
        ("list_evidence", {"record_id": "large-00001", "revision": 1}),
        ("list_confirmations", {"record_id": "large-00001", "revision": 1}),
        ("evidence_of_chat", {"chat_id": "chat1"}),
        ("recompute_head", {"record_id": "large-00001"}),
        ("find_live", {**PLACE, "owner_id": "x", "interpretation_hash": b""}),
        ("text_bytes", {"record_ids": '["large-00001"]'}),
    ],
)
def test_nothing_else_reads_more_than_it_answers(
    store: Database, statement: str, params: dict[str, Any]
) -> None:
    with store.reading() as db:
        steps = plan(db, getattr(SQL, statement), **params)
    assert not [s for s in steps if s.startswith("SCAN") and "VIRTUAL TABLE" not in s]


def columns_of(db: Connection, index: str) -> set[str]:
    return {row[2] for row in db.all(f"PRAGMA index_info({index})")}
