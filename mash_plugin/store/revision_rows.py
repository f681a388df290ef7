"""How a revision and its citations are written as rows, with a checksum, and read back."""

import json
from typing import Any

from mash_plugin.compact_json import compact_json
from mash_plugin.digest import sha256_of
from mash_plugin.records.model import Body, Evidence, Kind, Revision
from mash_plugin.store.sqlite import Row


def revision_row(revision: Revision) -> dict[str, Any]:
    """The columns of a revision."""
    body = revision.body
    return {
        "revision": revision.revision,
        "statement": body.statement,
        "recorded_by": body.recorded_by,
        "review": body.review,
        "state": body.state,
        "decided_by": body.decided_by,
        "effective_at": body.effective_at,
        "valid_until": body.valid_until,
        "reported_by": body.reported_by,
        "alternatives": _json(body.alternatives),
        "consequences": _json(body.consequences),
        "conditions": _json(body.conditions),
        "recorded_at": revision.recorded_at,
        "session_id": revision.session_id,
        "origin": revision.origin,
    }


def evidence_row(evidence: Evidence) -> dict[str, Any]:
    """What never changes of a citation."""
    return {
        "chat_id": evidence.chat_id,
        "message_id": evidence.message_id,
        "quote": evidence.quote,
        "purpose": evidence.purpose,
        "role": evidence.role,
        "author": evidence.author,
        "message_text": evidence.message_text,
        "recorded_at": evidence.recorded_at,
    }


def checksum_of(
    place: tuple[str, ...], row: dict[str, Any], evidence: tuple[Evidence, ...]
) -> bytes:
    """The checksum over what never changes of a revision: its record, its row, its citations."""
    citations = [evidence_row(e) for e in evidence if e.added_by == "revision"]
    return sha256_of(compact_json([place, row, citations]).encode())


def revision_in(row: Row, kind: Kind, evidence: tuple[Evidence, ...]) -> Revision:
    """The revision that a row holds. Raises ValueError or TypeError for a damaged one."""
    body = Body(
        kind=kind,
        state=row[4],
        statement=row[1],
        recorded_by=row[2],
        review=row[3],
        effective_at=row[6],
        decided_by=row[5],
        alternatives=_texts(row[9]),
        consequences=_texts(row[10]),
        conditions=_texts(row[11]),
        reported_by=row[8],
        valid_until=row[7],
    )
    return Revision(row[0], body, row[12], evidence, row[13], row[14])


def _json(texts: tuple[str, ...]) -> str | None:
    return compact_json(texts) if texts else None


def _texts(value: str | None) -> tuple[str, ...]:
    return tuple(json.loads(value)) if value else ()
