"""Give the records of a folder another scope; their history and its checksums come along."""

from mash_plugin.records.model import Scope
from mash_plugin.store.queries import load
from mash_plugin.store.records import Head, list_revisions, load_revision
from mash_plugin.store.revision_rows import checksum_of, revision_row
from mash_plugin.store.sqlite import Connection

_SQL = load("rebind")


def scopes_below(db: Connection, path: str) -> dict[str, int]:
    """Every folder with records that is this one or lies in it, and how many it has.

    Below the empty path are all.
    """
    return {str(value): int(count) for value, count in db.all(_SQL.list_scopes, {"path": path})}


def ids_at(db: Connection, scope: Scope) -> list[str]:
    """The records of exactly this place."""
    return [str(record_id) for (record_id,) in db.all(_SQL.list_ids, scope._asdict())]


def move_record(
    db: Connection, head: Head, scope: Scope, interpretation_hash: bytes | None
) -> None:
    """Move one record with all its revisions; a damaged one stays damaged, for all to see."""
    place = head._replace(scope_kind=scope.kind, scope_value=scope.value).place
    for number in list_revisions(db, head.id, None, head.revision):
        revision = load_revision(db, head, number)
        if revision is not None:
            checksum = checksum_of(place, revision_row(revision), revision.evidence)
            key = {"record_id": head.id, "revision": number, "checksum": checksum}
            db.run(_SQL.set_checksum, key)
    moved = {"record_id": head.id, "interpretation_hash": interpretation_hash}
    db.run(_SQL.move_record, moved | scope._asdict())


def move_checkpoints(db: Connection, old: str, scope: Scope) -> None:
    """What was reviewed for the folder counts for its new place."""
    db.run(_SQL.move_checkpoints, {"old": old} | scope._asdict())
