"""Every change of a record is noted in its own transaction, while a group is joined."""

import sqlite3
from pathlib import Path

import pytest

from mash_plugin.memory.forget_chat import find_going, forget_chat
from mash_plugin.store import publication
from mash_plugin.store.changes import set_evidence_status
from mash_plugin.store.publication import Membership
from mash_plugin.store.sqlite import Connection
from tests.conftest import NOW, Memory, Shop


@pytest.fixture
def joined(memory: Memory) -> Memory:
    """A memory that has joined a group, with nothing to tell it."""
    memory.index()
    with memory.call.store.writing() as db:
        publication.join(db, Membership("group"))
    return memory


def noted(memory: Memory) -> list[str]:
    """The records that wait; afterwards none does."""
    with memory.call.store.writing() as db:
        found = publication.waiting(db, 1000)
        publication.take_out(db, found)
    return [one.record_id for one in found]


def test_nothing_is_noted_where_no_group_is_joined(memory: Memory, shop: Shop) -> None:
    memory.index()
    made = memory.candidate("Keep the parser whole.")
    memory.change("forget", made)
    assert noted(memory) == []


def test_every_change_of_a_record_notes_it(joined: Memory, shop: Shop) -> None:
    first = joined.established("Use Qdrant for local search.")
    assert noted(joined) == [first["id"]]
    second = joined.established("Tests cover the search.")
    assert noted(joined) == [second["id"]]
    relation = {"relation": "supports", "target": {"id": first["id"], "revision": 1}}
    joined.change("link", second, **relation)
    assert noted(joined) == [second["id"]]
    joined.change("unlink", second, **relation)
    assert noted(joined) == [second["id"]]
    joined.change("forget", second)  # out of sight for a day, since the person had spoken
    assert noted(joined) == [second["id"]]
    joined.undo(second)
    assert noted(joined) == [second["id"]]


def test_a_forgotten_record_notes_those_that_linked_to_it(joined: Memory, shop: Shop) -> None:
    first = joined.candidate("Use Qdrant for local search.")
    second = joined.candidate("Tests cover the search.")
    with joined.call.store.writing() as db:
        db.run(
            "INSERT INTO links VALUES (NULL, :a, :b, 'supports', 1, 1, 1, NULL)",
            {"a": second["id"], "b": first["id"]},
        )
    noted(joined)
    joined.change("forget", first)
    assert sorted(noted(joined)) == sorted([first["id"], second["id"]])


def test_evidence_that_goes_stale_notes_its_record(joined: Memory, shop: Shop) -> None:
    made = joined.established("Use Qdrant for local search.")
    noted(joined)
    with joined.call.store.writing() as db:
        ((row,),) = db.all("SELECT evidence_id FROM evidence")
        set_evidence_status(db, [(row, made["id"], "changed")], NOW)
    assert noted(joined) == [made["id"]]


def test_a_forgotten_chat_notes_its_records(joined: Memory, shop: Shop) -> None:
    made = joined.established("Use Qdrant for local search.")
    noted(joined)
    forget_chat(joined.call, find_going(joined.call, "claude-code-s-1"))
    assert noted(joined) == [made["id"]]


def test_a_change_that_is_rolled_back_notes_nothing(joined: Memory, shop: Shop) -> None:
    made = joined.candidate("Keep the parser whole.")
    noted(joined)

    def change_in_vain() -> None:
        with joined.call.store.writing() as db:
            hide(db, made["id"])
            assert publication.backlog(db).waiting == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_in_vain()
    assert noted(joined) == []


def test_a_record_that_changed_since_it_was_read_stays_noted(joined: Memory, shop: Shop) -> None:
    made = joined.candidate("Keep the parser whole.")
    with joined.call.store.reading() as db:
        read = publication.waiting(db, 10)
    with joined.call.store.writing() as db:
        hide(db, made["id"])
    with joined.call.store.writing() as db:
        publication.take_out(db, read)
    assert noted(joined) == [made["id"]]


def test_a_note_that_was_set_aside_waits_for_the_next_change(joined: Memory, shop: Shop) -> None:
    made = joined.candidate("Keep the parser whole.")
    with joined.call.store.writing() as db:
        (one,) = publication.waiting(db, 10)
        publication.set_aside(db, one, "too large for the group")
        assert publication.backlog(db)._replace(oldest_at=None) == (0, None, 1)
        assert publication.refused(db, 10) == [(made["id"], "too large for the group")]
        assert publication.waiting(db, 10) == []
        hide(db, made["id"])
        assert publication.backlog(db).waiting == 1


def test_leaving_drops_what_waits_and_notes_no_more(joined: Memory, shop: Shop) -> None:
    joined.candidate("Keep the parser whole.")
    with joined.call.store.writing() as db:
        publication.leave(db)
        assert publication.membership(db) is None
    joined.candidate("Split the parser.")
    assert noted(joined) == []


def test_an_upsert_is_noted_whatever_its_conflict_clause(joined: Memory, shop: Shop) -> None:
    first = joined.candidate("Use Qdrant for local search.")
    second = joined.candidate("Tests cover the search.")
    with joined.call.store.reading() as db:
        read = publication.waiting(db, 10)
    link = "INSERT OR IGNORE INTO links VALUES (NULL, :a, :b, 'supports', 1, 1, 1, NULL)"
    with joined.call.store.writing() as db:
        db.run(link, {"a": second["id"], "b": first["id"]})
        publication.take_out(db, read)
    assert noted(joined) == [second["id"]]


def test_the_outbox_survives_the_process(joined: Memory, shop: Shop) -> None:
    made = joined.candidate("Keep the parser whole.")
    path = Path(joined.call.store.path)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as raw:
        assert raw.execute("SELECT record_id FROM publication").fetchall() == [(made["id"],)]


def hide(db: Connection, record_id: str) -> None:
    db.run("UPDATE records SET hidden_at = 1 WHERE record_id = :id", {"id": record_id})
