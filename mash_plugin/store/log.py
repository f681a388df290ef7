"""What happened in the store, out of the rows that it left there."""

from typing import NamedTuple

from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

_SQL = load("log")


class Event(NamedTuple):
    """One thing that was saved or shown."""

    at: int
    event: str
    """saved, confirmed, linked, hidden, forgotten, chat_forgotten or shown"""
    id: str
    """Of a record, or as `session_rows.Shown` has it; empty for a chat that was forgotten."""
    revision: int | None
    session_id: str | None
    agent: str | None
    detail: str
    """The origin of a revision or a removal, the relation of a link, the path it was shown with."""
    other: str
    """The confirming message, the other end of a link, the subagent, what asked to forget."""


def list_events(db: Connection, since: int, start: int, count: int) -> list[Event]:
    """One page of what happened since, the newest first."""
    page = {"since": since, "start": start, "count": count}
    return [Event(*row) for row in db.all(_SQL.list_events, page)]


def list_shown_to(db: Connection, session_id: str, start: int, count: int) -> list[Event]:
    """One page of what a session was shown, the oldest first."""
    page = {"session_id": session_id, "start": start, "count": count}
    return [Event(*row) for row in db.all(_SQL.list_shown_to, page)]
