"""Rows for people who look through the store: by filters, by days, by sessions."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.records.model import (
    Decider,
    Kind,
    Review,
    Scope,
    ScopeKind,
    State,
    decider_of,
)
from mash_plugin.store.queries import load
from mash_plugin.store.records import Head, scope_key
from mash_plugin.store.sqlite import Connection, Row

_SQL = load("browse")
NEWEST = (1 << 63) - 1


class Filters(NamedTuple):
    """What is looked for; None and False look for everything."""

    kind: str | None = None
    state: str | None = None
    review: str | None = None
    decided_by: str | None = None
    scope: Scope | None = None
    is_stale: bool = False
    is_conflicted: bool = False
    words: tuple[str, ...] = ()
    """Beginnings of words, all of which the record or its quotes must hold."""
    spelled: tuple[tuple[str, ...], ...] = ()
    """Each of the words in all its spellings, a space before."""


class Group(NamedTuple):
    """How many records share what filters tell apart."""

    kind: Kind
    state: State
    review: Review
    decided_by: Decider | None
    stale: int
    scope_kind: ScopeKind
    scope_value: str
    records: int
    rows: str | None = None
    """Which these are, with commas between; only under words or conflicts."""

    @property
    def scope(self) -> Scope:
        """Where they hold."""
        return Scope(self.scope_kind, self.scope_value)


def page(
    db: Connection,
    filters: Filters,
    after: tuple[int, str] | None,
    now: int,
    count: int,
    among: str | None = None,
) -> list[Head]:
    """The heads that follow a cursor (when recorded, ID), the newest first.

    `among`: the rows that hold the words and contradict, where they are known.
    """
    at, record_id = after or (NEWEST, "")
    scope = filters.scope
    rows = db.all(
        _SQL.page if among is None else _SQL.page_among,
        {
            **(_looked_for(filters, now) if among is None else {"rows": f"[{among}]"}),
            "at": at,
            "id": record_id,
            "kind": filters.kind,
            "state": filters.state,
            "review": filters.review,
            "decided_by": filters.decided_by,
            **scope_key(scope),
            "stale": filters.is_stale,
            "count": count,
        },
    )
    return [Head._make(row) for row in rows]


def groups(db: Connection, filters: Filters, now: int) -> list[Group]:
    """The counts under the words and the conflicts that are looked for, all else told apart."""
    asked = _looked_for(filters, now)
    if filters.is_conflicted:
        rows = db.all(_SQL.groups_conflicted, asked)
    elif filters.words:
        rows = db.all(_SQL.groups_found, asked)
    else:
        rows = db.all(_SQL.groups)
    return [_group(row) for row in rows]


def respelled(db: Connection, spelled: Sequence[Sequence[str]]) -> list[Group]:
    """The counts of records that hold each word in one of its spellings."""
    return [_group(row) for row in db.all(_SQL.groups_respelled, {"words": compact_json(spelled)})]


def days(db: Connection, since: int) -> list[tuple[str, Scope, int]]:
    """How many records of each scope were first saved on each local day."""
    rows = db.all(_SQL.days, {"since": since})
    return [(day, Scope(kind, value), count) for day, kind, value, count in rows]


def citing(db: Connection, chat_id: str, message_ids: list[str]) -> list[tuple[str, str]]:
    """(message, record) of every citation of these messages."""
    key = {"chat_id": chat_id, "message_ids": compact_json(message_ids)}
    return [(message, record) for message, record in db.all(_SQL.citing, key)]


def cited_chats(db: Connection, chat_ids: Iterable[str]) -> dict[str, int]:
    """How many records cite each of these chats."""
    key = {"chat_ids": compact_json(list(chat_ids))}
    return {chat: int(count) for chat, count in db.all(_SQL.cited_chats, key)}


def injected_by_day(db: Connection, since: int) -> list[tuple[str, str, int, int]]:
    """(local day, hook, times, bytes) of what hooks put into sessions."""
    return [
        (day, hook, times, size)
        for day, hook, times, size in db.all(_SQL.injected_by_day, {"since": since})
    ]


def injected_by_session(db: Connection, count: int) -> list[tuple[str, str, int, int, int]]:
    """(session, agent, last active, times, bytes), the newest first."""
    return [
        (session, agent, at, times, size)
        for session, agent, at, times, size in db.all(_SQL.injected_by_session, {"count": count})
    ]


def newest_message(chats: Connection) -> int:
    """A number that grows with every message that the chat index takes in."""
    row = chats.one(_SQL.newest_message)
    return int(row[0]) if row else 0


def _group(row: Row) -> Group:
    return Group._make((*row[:3], decider_of(row[0], row[3]), *row[4:]))


def _looked_for(filters: Filters, now: int) -> dict[str, object]:
    words = compact_json(list(filters.words)) if filters.words else None
    longest = max(filters.words, key=len, default="")
    return {"words": words, "longest": longest, "conflicted": filters.is_conflicted, "now": now}
