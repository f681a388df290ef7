"""Rows that tell which sessions there were, and how much hooks showed to each."""

from collections.abc import Iterable
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

_SQL = load("showings")


class SessionCounts(NamedTuple):
    """A session with how much it was shown."""

    session_id: str
    agent: str
    project: str | None
    first_seen_at: int
    last_activity_at: int
    records: int
    chats: int
    reminders: int
    """With its prompts; the note of its start is not among them."""
    bytes: int
    """Of everything that hooks put into it."""


def places(db: Connection, shown_id: str | None) -> list[tuple[str, int]]:
    """Where sessions ran ('' for no project) and how many did; of one record's where it is named.

    Most sessions first.
    """
    rows = db.all(_SQL.places, {"shown_id": shown_id})
    return [(place or "", int(count)) for place, count in rows]


def list_sessions(
    db: Connection, among: Iterable[str], shown_id: str | None, start: int, count: int
) -> list[SessionCounts]:
    """One page of the sessions of these places, the newest first."""
    asked = {"places": compact_json(list(among)), "shown_id": shown_id, "session_id": None}
    rows = db.all(_SQL.list_sessions, {**asked, "start": start, "count": count})
    return [SessionCounts(*row) for row in rows]


def one_session(db: Connection, session_id: str) -> SessionCounts | None:
    """A session by its ID."""
    asked = {"places": None, "shown_id": None, "session_id": session_id}
    row = db.one(_SQL.list_sessions, {**asked, "start": 0, "count": 1})
    return None if row is None else SessionCounts(*row)
