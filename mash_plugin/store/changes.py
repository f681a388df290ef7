"""What is written of records: revisions, citations, confirmations, links, removals; no rules."""

from typing import Any, NamedTuple

from mash_plugin.records.evidence import is_stale
from mash_plugin.records.model import Evidence, EvidenceStatus, Revision, Scope
from mash_plugin.store.forgotten import refuse_forgotten
from mash_plugin.store.operations import forget_receipts
from mash_plugin.store.queries import load
from mash_plugin.store.records import Head, place_key
from mash_plugin.store.revision_rows import checksum_of, evidence_row, revision_row
from mash_plugin.store.sqlite import Connection

_SQL = load("changes")


class Hidden(NamedTuple):
    """A record that an agent asked to forget: out of sight, and removed a day later."""

    record_id: str
    hidden_at: int
    hidden_by: str | None
    """The session that asked."""


def insert_record(
    db: Connection,
    record_id: str,
    owner: str,
    scope: Scope,
    first: Revision,
    interpretation_hash: bytes,
    tokens: tuple[str, str],
) -> None:
    """Write a new record with its first revision and its evidence."""
    row = {
        **_head_row(first, interpretation_hash, tokens),
        **place_key(owner, scope),
        "record_id": record_id,
        "kind": first.body.kind,
    }
    db.run(_SQL.insert_record, row)
    place = (record_id, owner, first.body.kind, scope.kind, scope.value)
    _insert_revision(db, place, first)


def add_revision(
    db: Connection,
    head: Head,
    revision: Revision,
    interpretation_hash: bytes,
    tokens: tuple[str, str],
) -> bool:
    """Write the next revision of a record; False where the head has moved meanwhile."""
    row = _head_row(revision, interpretation_hash, tokens)
    if not db.run(_SQL.move_head, {**row, "record_id": head.id, "expected": head.revision}):
        return False
    _insert_revision(db, head.place, revision)
    return True


def add_confirmations(
    db: Connection,
    head: Head,
    evidence: tuple[Evidence, ...],
    counted: tuple[str, ...],
    now: int,
    session_id: str | None,
) -> int:
    """Keep what supports the head; how many of the counted messages are new to it."""
    key = {"record_id": head.id, "revision": head.revision}
    for one in evidence:
        row = evidence_row(one)
        if db.one(_SQL.has_evidence, {**key, **row}) is None:
            _insert_evidence(db, head.id, head.revision, one)
    added = sum(
        db.run(
            _SQL.insert_confirmation,
            {**key, "message_id": message_id, "now": now, "session_id": session_id},
        )
        for message_id in counted
    )
    recompute_head(db, head.id)
    return added


def add_link(
    db: Connection, source: Head, target: Head, relation: str, now: int, session_id: str | None
) -> bool:
    """Join two records; False where they are joined so already."""
    link = {
        **_link(source.id, target.id, relation),
        "from_revision": source.revision,
        "to_revision": target.revision,
        "now": now,
        "session_id": session_id,
    }
    return db.run(_SQL.insert_link, link) > 0


def remove_link(db: Connection, source_id: str, target_id: str, relation: str) -> bool:
    """Take exactly this link away; False where there is none."""
    return db.run(_SQL.delete_link, _link(source_id, target_id, relation)) > 0


def hide(db: Connection, record_id: str, now: int, session_id: str | None) -> None:
    """Put a record out of sight of every reader."""
    _set_hidden(db, record_id, now, session_id)


def unhide(db: Connection, record_id: str) -> None:
    """Bring a hidden record back as it was."""
    _set_hidden(db, record_id, None, None)


def hidden_records(db: Connection, until: int | None = None) -> list[Hidden]:
    """All that are out of sight, or those hidden at that time or before; the latest first."""
    return [Hidden(*row) for row in db.all(_SQL.list_hidden, {"until": until})]


def remove_record(db: Connection, record_id: str, now: int) -> None:
    """Leave nothing of a record but marks without content; inside a write."""
    forget_receipts(db, record_id)
    key = {"record_id": record_id, "now": now}
    db.run(_SQL.delete_record, key)
    db.run(_SQL.insert_tombstone, key)


def set_evidence_status(
    db: Connection, changes: list[tuple[int, str, EvidenceStatus]], now: int
) -> None:
    """Write new states of citations, by row and record, and what follows for their records."""
    for row, record_id, status in changes:
        key = {"evidence_id": row, "record_id": record_id, "status": status, "now": now}
        db.run(_SQL.set_evidence_status, key)
    for record_id in sorted({record_id for _, record_id, _ in changes}):
        recompute_head(db, record_id)


def recompute_head(db: Connection, record_id: str) -> None:
    """Stale and confirmed as the evidence of the head now stands."""
    db.run(_SQL.recompute_head, {"record_id": record_id})


def _head_row(
    revision: Revision, interpretation_hash: bytes, tokens: tuple[str, str]
) -> dict[str, Any]:
    """What a record keeps of the revision that is its head."""
    strong, weak = tokens
    return {
        **revision_row(revision),
        "retired": int(revision.body.is_retired),
        "evidence_stale": int(is_stale(revision.evidence)),
        "interpretation_hash": interpretation_hash,
        "strong_tokens": strong,
        "weak_tokens": weak,
    }


def _insert_revision(db: Connection, place: tuple[str, ...], revision: Revision) -> None:
    record_id, row = place[0], revision_row(revision)
    checksum = checksum_of(place, row, revision.evidence)
    db.run(_SQL.insert_revision, {**row, "record_id": record_id, "checksum": checksum})
    for evidence in revision.evidence:
        _insert_evidence(db, record_id, revision.revision, evidence)


def _insert_evidence(db: Connection, record_id: str, revision: int, evidence: Evidence) -> None:
    # In this transaction: the chat may have been forgotten since its words were read.
    refuse_forgotten(db, [evidence.chat_id])
    db.run(
        _SQL.insert_evidence,
        {
            **evidence_row(evidence),
            "record_id": record_id,
            "revision": revision,
            "added_by": evidence.added_by,
            "status": evidence.status,
        },
    )


def _set_hidden(db: Connection, record_id: str, at: int | None, session_id: str | None) -> None:
    db.run(_SQL.set_hidden, {"record_id": record_id, "hidden_at": at, "hidden_by": session_id})


def _link(source_id: str, target_id: str, relation: str) -> dict[str, str]:
    return {"from_record": source_id, "to_record": target_id, "relation": relation}
