"""Records written past the rules, as many and as large as a test wants them."""

from collections.abc import Iterable

from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store.changes import add_link, add_revision, insert_record
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import get_head
from tests.conftest import NOW, SHOP, Memory

WIDE = "\u597d"
"""Three bytes of JSON."""


def revision(number: int, statement: str, quotes: Iterable[str] = ("So be it.",)) -> Revision:
    """A revision as the store keeps it."""
    evidence = tuple(
        Evidence("c", f"m{place}", quote, "endorsement", "user", "person", quote)
        for place, quote in enumerate(quotes)
    )
    body = Body("decision", "accepted", statement, "tests", "established")
    return Revision(number, body, NOW + number, evidence, "s-1")


def planted(memory: Memory, record_id: str, *revisions: Revision) -> str:
    """A record with these revisions, written past the rules."""
    first, *later = revisions
    with memory.call.store.writing() as db:
        owner = identity_of(db).owner
        scope = Scope("repository", SHOP)
        insert_record(db, record_id, owner, scope, first, b"", ("", ""))
        for one in later:
            head = get_head(db, record_id)
            assert head is not None
            assert add_revision(db, head, one, b"", ("", ""))
    return record_id


def linked(memory: Memory, source: str, target: str, relation: str = "supports") -> None:
    with memory.call.store.writing() as db:
        ends = get_head(db, source), get_head(db, target)
        assert ends[0] is not None
        assert ends[1] is not None
        assert add_link(db, ends[0], ends[1], relation, memory.clock.now, None)
