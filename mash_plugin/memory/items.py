"""A record as recall and lists show it (R-091)."""

from typing import Any

from mash_plugin.memory.masking import Masking
from mash_plugin.records.lifecycle import is_in_force, status_of_record
from mash_plugin.records.model import RecordStatus, Revision
from mash_plugin.store.records import Head, Linked


def is_head_in_force(head: Head | Linked, now: int) -> bool:
    """Whether what a record says holds at this moment."""
    return is_in_force(bool(head.retired), head.effective_at, head.valid_until, now)


def status_of_head(head: Head, now: int) -> RecordStatus:
    """The derived status of a record at this moment."""
    return status_of_record(is_head_in_force(head, now), bool(head.evidence_stale), head.review)


def item_of(
    head: Head, revision: Revision, status: RecordStatus, conflicted: bool, shown: Masking
) -> dict[str, Any]:
    """Enough to act and to look deeper; fields that say nothing are left out."""
    body = revision.body
    shown = shown.needed_for((*body.texts, body.recorded_by))
    item: dict[str, Any] = {
        "id": head.id,
        "revision": revision.revision,
        "kind": head.kind,
        "status": status,
        "state": body.state,
        "review": body.review,
        "statement": shown(body.statement),
        "scope": head.scope.as_json(),
        "recorded_by": shown(body.recorded_by),
        "recorded_at": revision.recorded_at,
        "confirmations": head.confirmations,
        "evidence": "stale" if head.evidence_stale else "matching",
    }
    if conflicted:
        item["conflicted"] = True
    return item | kind_fields(revision, shown) | _present("effective_at", body.effective_at)


def kind_fields(revision: Revision, shown: Masking) -> dict[str, Any]:
    """The fields of the record's own kind that are set."""
    body = revision.body
    fields = _present("decided_by", body.decided_by) | _present("valid_until", body.valid_until)
    if body.reported_by is not None:
        fields["reported_by"] = shown(body.reported_by)
    for name in ("alternatives", "consequences", "conditions"):
        if texts := getattr(body, name):
            fields[name] = [shown(text) for text in texts]
    return fields


def _present(name: str, value: object) -> dict[str, Any]:
    return {} if value is None else {name: value}
