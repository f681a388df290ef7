"""Which session saved what, and taking back everything of one; no rules."""

from typing import NamedTuple

from mash_plugin.records.terminal import Saved
from mash_plugin.store.changes import recompute_head, unhide
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

_SQL = load("provenance")


class SavedLink(NamedTuple):
    """A link that a session made."""

    row: int
    source: str
    relation: str
    target: str


class OfSession(NamedTuple):
    """What a session saved beside wordings."""

    confirmations: tuple[tuple[str, int, str], ...]
    """(record, revision, message)"""
    links: tuple[SavedLink, ...]
    hidden: tuple[str, ...]


def sessions_from(db: Connection, start: str, count: int) -> list[str]:
    """The sessions of the store whose ID begins so."""
    return [row[0] for row in db.all(_SQL.sessions_from, {"start": start, "count": count})]


def newest_session(db: Connection) -> str | None:
    """The session that saved or hid something last."""
    row = db.one(_SQL.newest_session)
    return str(row[0]) if row else None


def list_saved(db: Connection, record_id: str) -> list[Saved]:
    """Who saved each revision, in their order."""
    return [Saved(*row) for row in db.all(_SQL.list_saved, {"record_id": record_id})]


def records_of_session(db: Connection, session_id: str) -> list[str]:
    """The records of which the session saved a revision."""
    return [row[0] for row in db.all(_SQL.records_of_session, {"session_id": session_id})]


def of_session(db: Connection, session_id: str) -> OfSession:
    """The session's confirmations, links and hidden records."""
    key = {"session_id": session_id}
    return OfSession(
        tuple((r[0], r[1], r[2]) for r in db.all(_SQL.confirmations_of_session, key)),
        tuple(SavedLink(*row) for row in db.all(_SQL.links_of_session, key)),
        tuple(row[0] for row in db.all(_SQL.hidden_by_session, key)),
    )


def take_back(db: Connection, session_id: str, found: OfSession) -> None:
    """Remove the session's confirmations and these links of it, and bring back what it hid."""
    key = {"session_id": session_id}
    db.run(_SQL.delete_confirming_evidence, key)
    db.run(_SQL.delete_confirmations, key)
    for link in found.links:
        db.run(_SQL.delete_link, {"link_id": link.row})
    for record_id in found.hidden:
        unhide(db, record_id)
    for record_id in {confirmed[0] for confirmed in found.confirmations}:
        recompute_head(db, record_id)
