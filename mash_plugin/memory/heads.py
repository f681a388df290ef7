"""The record that a request names: found, undamaged, and as lists show it."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.errors import Forgotten, NotFound, RevisionConflict, StoreDamaged
from mash_plugin.memory.call import Call
from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.records.model import Revision
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import Head, conflicted_among, get_head, is_forgotten, load_head
from mash_plugin.store.sqlite import Connection


def visible_head(db: Connection, record_id: str) -> Head:
    """The head of a record that nobody asked to forget; raises NotFound or Forgotten."""
    head = get_head(db, record_id)
    if head is None:
        refuse_removed(db, record_id)
        raise NotFound(f"There is no record {record_id!r}; see list_records.")
    if head.hidden_at is not None:
        raise Forgotten(
            f"Record {record_id} was forgotten by an agent and is removed for good a day later."
            " Until then the person can bring it back: `mash undo`."
        )
    return head


def expected_head(db: Connection, owner: str, at: Mapping[str, Any]) -> Head:
    """The head of that owner's record `at["id"]`, at the revision that a change was made for.

    Raises NotFound, Forgotten or RevisionConflict.
    """
    head = visible_head(db, at["id"])
    if head.owner != owner:
        raise NotFound(f"There is no record {at['id']!r} of this owner; see list_records.")
    if head.revision != at["revision"]:
        raise RevisionConflict(
            f"Record {head.id} is at revision {head.revision}, not {at['revision']}: read it again"
            " and decide anew.",
            id=head.id,
            current_revision=head.revision,
        )
    return head


def refuse_removed(db: Connection, record_id: str) -> None:
    """Raise Forgotten for a record of which only the mark is left."""
    if is_forgotten(db, record_id):
        raise Forgotten(f"Record {record_id} was removed; its text is gone.")


def readable_revision(call: Call, db: Connection, head: Head) -> Revision | None:
    """What a head says; None where it is damaged, which is logged."""
    revision = load_head(db, head)
    if revision is None:
        call.on_damaged(head.id)
    return revision


def intact_revision(call: Call, db: Connection, head: Head) -> Revision:
    """What a head says; raises StoreDamaged."""
    revision = readable_revision(call, db, head)
    if revision is None:
        raise StoreDamaged(
            f"Record {head.id} does not fit its checksum: it is neither shown nor changed. Run"
            " `mash doctor`."
        )
    return revision


def item_of_head(call: Call, db: Connection, head: Head, revision: Revision) -> dict[str, Any]:
    """The item of one record, with the conflicts that it has at this moment."""
    conflicted = bool(conflicted_among(db, [head.id], call.now))
    status = status_of_head(head, call.now)
    item = item_of(head, revision, status, conflicted, masking(call.settings))
    return item if head.owner == identity_of(db).owner else item | {"owner": head.owner}
