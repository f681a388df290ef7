"""What is read of records: heads, revisions, links; no rules."""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.records.model import (
    Decider,
    Evidence,
    Kind,
    Review,
    Revision,
    Scope,
    ScopeKind,
    State,
)
from mash_plugin.store.queries import load
from mash_plugin.store.revision_rows import checksum_of, revision_in, revision_row
from mash_plugin.store.sqlite import Connection

_SQL = load("records")


class Head(NamedTuple):
    """One row of `records`: the copies of the head revision that are searched by index.

    A named tuple, since every recall makes 256 of them. CHECKs of the table hold its words.
    """

    id: str
    owner: str
    kind: Kind
    scope_kind: ScopeKind
    scope_value: str
    revision: int
    review: Review
    state: State
    retired: int
    decided_by: Decider | None
    effective_at: int | None
    valid_until: int | None
    recorded_at: int
    evidence_stale: int
    confirmations: int
    strong_tokens: str
    weak_tokens: str
    hidden_at: int | None
    """When an agent took it out of sight; nothing shows it, it goes a day later."""

    @property
    def scope(self) -> Scope:
        """Where it holds."""
        return Scope(self.scope_kind, self.scope_value)

    @property
    def place(self) -> tuple[str, ...]:
        """What the checksums of its revisions cover of the record itself."""
        return (self.id, self.owner, self.kind, self.scope_kind, self.scope_value)


class Linked(NamedTuple):
    """A link as one of its ends sees it, with the other end's head."""

    direction: str
    relation: str
    recorded_at: int
    id: str
    revision: int
    state: str
    retired: int
    effective_at: int | None
    valid_until: int | None


def window(
    db: Connection, owner: str, scope: Scope, now: int, count: int, include_review: bool
) -> list[Head]:
    """The newest heads of a scope: those that default recall may return, or all."""
    key = {**place_key(owner, scope), "count": count}
    if not include_review:
        return [Head._make(row) for row in db.all(_SQL.window, {**key, "now": now})]
    parts = [
        [
            Head._make(row)
            for row in db.all(
                _SQL.review_window, {**key, "retired": retired, "evidence_stale": stale}
            )
        ]
        for retired in (0, 1)
        for stale in (0, 1)
    ]
    return list(islice(merge(*parts, key=lambda h: (-h.recorded_at, h.id)), count))


def place_key(owner: str, scope: Scope) -> dict[str, str]:
    """The parameters by which statements find the rows of an owner's scope."""
    return {"owner_id": owner, "scope_kind": scope.kind, "scope_value": scope.value}


def scope_key(scope: Scope | None) -> dict[str, str | None]:
    """The same for a filter: without a scope it lets the rows of every one through."""
    kind, value = scope or (None, None)
    return {"scope_kind": kind, "scope_value": value}


def owner_and_version(db: Connection) -> tuple[str, int]:
    """The local owner, and a number that grows with every change of records and links."""
    row = db.one(_SQL.owner_and_version)
    return (str(row[0]), int(row[1])) if row else ("", 0)


def window_changes_at(db: Connection, owner: str, scope: Scope, now: int) -> int | None:
    """When a record of the scope begins or ceases to be in force; None when none will."""
    row = db.one(_SQL.window_changes_at, {**place_key(owner, scope), "now": now})
    return row[0] if row else None


def conflicted_among(db: Connection, record_ids: Iterable[str], now: int) -> frozenset[str]:
    """Those records that are in force and contradict another one that is."""
    key = {"record_ids": compact_json(list(record_ids)), "now": now}
    return frozenset(row[0] for row in db.all(_SQL.conflicted_among, key))


def last_confirmed(db: Connection, record_ids: Iterable[str]) -> dict[str, int]:
    """When each of these heads was last confirmed; without those that never were."""
    key = {"record_ids": compact_json(list(record_ids))}
    return {row[0]: int(row[1]) for row in db.all(_SQL.last_confirmed, key)}


def get_head(db: Connection, record_id: str) -> Head | None:
    """The head of a record, or None."""
    row = db.one(_SQL.get_head, {"record_id": record_id})
    return Head._make(row) if row else None


def ids_from(db: Connection, start: str, count: int) -> list[str]:
    """The IDs of records, hidden ones included, that begin so."""
    return [row[0] for row in db.all(_SQL.ids_from, {"start": start, "count": count})]


def removed_from(db: Connection, start: str) -> str | None:
    """A removed record whose ID began so."""
    row = db.one(_SQL.removed_from, {"start": start})
    return str(row[0]) if row else None


def is_forgotten(db: Connection, record_id: str) -> bool:
    """Whether a record of that ID was removed."""
    return db.one(_SQL.is_forgotten, {"record_id": record_id}) is not None


def list_heads(
    db: Connection,
    scope: Scope | None,
    kind: str | None,
    state: str | None,
    review: str | None,
    chat_id: str | None,
    start: int,
    count: int,
) -> list[Head]:
    """One page of heads, newest first, under optional filters."""
    filters = {
        **scope_key(scope),
        "kind": kind,
        "state": state,
        "review": review,
        "start": start,
        "count": count,
    }
    if chat_id is None:
        return [Head._make(row) for row in db.all(_SQL.list_heads, filters)]
    found = db.all(_SQL.list_heads_of_chat, {**filters, "chat_id": chat_id})
    return [Head._make(row) for row in found]


def find_live(db: Connection, owner: str, scope: Scope, interpretation_hash: bytes) -> Head | None:
    """The live record with that interpretation, if there is one."""
    key = {**place_key(owner, scope), "interpretation_hash": interpretation_hash}
    row = db.one(_SQL.find_live, key)
    return get_head(db, row[0]) if row else None


def other_owners(db: Connection, owner: str) -> list[str]:
    """Whose records have come with imports."""
    return [str(name) for (name,) in db.all(_SQL.other_owners, {"owner_id": owner})]


def count_live(db: Connection, owner: str, scope: Scope) -> tuple[int, int | None]:
    """How many live records a scope has, and when the last of them was saved."""
    row = db.one(_SQL.count_live, place_key(owner, scope))
    return (int(row[0]), row[1]) if row else (0, None)


def load_revision(db: Connection, head: Head, number: int) -> Revision | None:
    """A revision with its evidence, or None where its checksum does not hold."""
    key = {"record_id": head.id, "revision": number}
    row = db.one(_SQL.get_revision, key)
    if row is None:
        return None
    evidence = tuple(Evidence(*r) for r in db.all(_SQL.list_evidence, key))
    try:
        revision = revision_in(row, head.kind, evidence)
    except (ValueError, TypeError):  # damaged JSON inside a row
        return None
    whole = checksum_of(head.place, revision_row(revision), evidence)
    return revision if row[-1] == whole else None


def load_head(db: Connection, head: Head) -> Revision | None:
    """The head revision, or None where it, or the copy of it in `records`, is damaged."""
    revision = load_revision(db, head, head.revision)
    if revision is None:
        return None
    body = revision.body
    told = (head.review, head.state, head.decided_by, head.effective_at, head.valid_until)
    kept = (body.review, body.state, body.decided_by, body.effective_at, body.valid_until)
    return revision if told == kept else None


def text_bytes(db: Connection, record_ids: Iterable[str]) -> dict[str, int]:
    """How many bytes the texts of each head take, without reading them out."""
    key = {"record_ids": compact_json(list(record_ids))}
    return {row[0]: int(row[1]) for row in db.all(_SQL.text_bytes, key)}


def list_revisions(db: Connection, record_id: str, before: int | None, count: int) -> list[int]:
    """Revision numbers below `before`, newest first."""
    key = {"record_id": record_id, "before": before, "count": count}
    return [int(row[0]) for row in db.all(_SQL.list_revisions, key)]


def list_confirmations(db: Connection, record_id: str, revision: int) -> list[tuple[str, int]]:
    """Confirming message IDs with the time each was recorded."""
    key = {"record_id": record_id, "revision": revision}
    return [(row[0], row[1]) for row in db.all(_SQL.list_confirmations, key)]


def list_links(db: Connection, record_id: str, start: int, count: int) -> list[Linked]:
    """Links in both directions, oldest first."""
    key = {"record_id": record_id, "start": start, "count": count}
    return [Linked(*row[1:]) for row in db.all(_SQL.list_links, key)]


def replacements(db: Connection, record_id: str) -> list[str]:
    """The records that superseded this one."""
    return [row[0] for row in db.all(_SQL.replacements, {"record_id": record_id})]


def successors(db: Connection, record_ids: Iterable[str]) -> frozenset[str]:
    """These records and all that took their place in turn."""
    key = {"record_ids": compact_json(list(record_ids))}
    return frozenset(row[0] for row in db.all(_SQL.successors, key))


def out_of_force_since(
    db: Connection, record_ids: Iterable[str], since: int, now: int, count: int
) -> list[str]:
    """Those records that were withdrawn, replaced or contradicted, or ran out, since then."""
    among = compact_json(list(record_ids))
    key = {"record_ids": among, "since": since, "now": now, "count": count}
    return [row[0] for row in db.all(_SQL.out_of_force_since, key)]


def evidence_of_chat(db: Connection, chat_id: str) -> Iterator[tuple[int, str, Evidence]]:
    """Every citation of a chat with its row number and its record."""
    for row in db.all(_SQL.evidence_of_chat, {"chat_id": chat_id}):
        yield row[0], row[1], Evidence(*row[3:])
