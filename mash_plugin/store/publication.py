"""The outbox towards the group, and what the store knows of the group that it joined.

Triggers note every changed record, in the transaction of the change, while `meta` names a
group. A note only says that a record is to be looked at again: what the group is to hold of it
is decided from its present state when it is sent.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection, Row

_SQL = load("publication")


class Membership(NamedTuple):
    """The joined group, and what was last agreed on with its server."""

    group_id: str
    published: str = ""
    """The mark that the last publication left on the server; another one there means that
    one of the two sides was restored, or that somebody else publishes for this node."""
    rules: str = ""
    """Under which rules the server's copies were last compared with the store."""
    published_at: int = 0


class Waiting(NamedTuple):
    """One record to look at again."""

    sequence: int
    record_id: str


class Backlog(NamedTuple):
    """What the outbox holds."""

    waiting: int
    oldest_at: int | None
    set_aside: int
    """Records that the rules or the server refuse; each is tried again when it changes."""


def membership(db: Connection) -> Membership | None:
    """The group that is joined, or None."""
    row = db.one(_SQL.get_state)
    return Membership(*json.loads(row[0])) if row else None


def join(db: Connection, joined: Membership) -> None:
    """Note changes for a group from now on; what another one waited for is dropped."""
    db.run(_SQL.empty)
    db.run(_SQL.set_meta, {"key": "group_id", "value": joined.group_id.encode()})
    remember(db, joined)


def leave(db: Connection) -> None:
    """Note changes no longer."""
    db.run(_SQL.leave)
    db.run(_SQL.empty)


def remember(db: Connection, joined: Membership) -> None:
    """Keep what was agreed on with the server, in the transaction that follows from it."""
    db.run(_SQL.set_meta, {"key": "group_state", "value": compact_json(joined).encode()})


def waiting(db: Connection, count: int) -> list[Waiting]:
    """Those that were noted first."""
    return [Waiting(*row) for row in db.all(_SQL.waiting, {"count": count})]


def take_out(db: Connection, done: Iterable[Waiting]) -> None:
    """Drop these notes; a record that changed since it was read keeps its newer one."""
    db.run(_SQL.take_out, {"sequences": compact_json([one.sequence for one in done])})


def set_aside(db: Connection, one: Waiting, failure: str) -> None:
    """Keep a note out of the way; the text says why, and nothing of what the record says."""
    db.run(_SQL.set_aside, {"sequence": one.sequence, "failure": failure})


def retry_set_aside(db: Connection) -> int:
    """Let everything that was set aside be tried again; how much that is."""
    return db.run(_SQL.retry)


def queue(db: Connection, record_ids: Iterable[str], now: int) -> None:
    """Have records looked at again."""
    db.run(_SQL.queue, {"record_ids": compact_json(list(record_ids)), "now": now})


def backlog(db: Connection) -> Backlog:
    """How much waits, since when, and how much was set aside."""
    return Backlog(*(db.one(_SQL.backlog) or (0, None, 0)))


def refused(db: Connection, count: int) -> list[tuple[str, str]]:
    """Records that were set aside, each with the reason."""
    return [(str(record), str(why)) for record, why in db.all(_SQL.refused, {"count": count})]


def node_id(db: Connection) -> str:
    """The ID under which this store publishes."""
    row = db.one(_SQL.node_id)
    return str(row[0]) if row else ""


def ids_after(db: Connection, after: str, count: int) -> list[str]:
    """The next records in the order of their IDs."""
    return [str(row[0]) for row in db.all(_SQL.ids_after, {"after": after, "count": count})]


def publishable_scopes(db: Connection) -> list[tuple[str, str]]:
    """Every place that records may be published from, as far as it has any."""
    return [(str(kind), str(value)) for kind, value in db.all(_SQL.scopes)]


def links_from(db: Connection, record_id: str) -> list[Row]:
    """(other record, relation, both revisions, time) of the links that go out from a record."""
    return db.all(_SQL.outgoing, {"record_id": record_id})
