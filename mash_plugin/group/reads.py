"""Lists of what the members of a group have published, page by page. Writes nothing.

Nothing local stands in for what the server does not say.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mash_plugin.errors import NotFound
from mash_plugin.group.cursor import Position, read_cursor, write_cursor
from mash_plugin.group.items import copy_of
from mash_plugin.group.kept import KeptGroup
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.items import status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.budget import PAGE_BYTES, size_of
from mash_plugin.records.model import LIVE_STATES, RETIRED_STATES, Scope
from mash_plugin.store.queries import load
from mash_plugin.store.records import scope_key

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

SQL = load("reads", os.path.join(os.path.dirname(__file__), "sql"))
NEWEST = (1 << 63) - 1
LONGEST_CURSOR = 300
RECORD_ID, RECORDED_AT = 0, 12
"""Columns of `heads`."""
FACETS = tuple(
    (kind, state, review)
    for kind in LIVE_STATES
    for state in LIVE_STATES[kind] + RETIRED_STATES[kind]
    for review in ("candidate", "established")
)
"""Every kind of head that a list can hold."""
Item = dict[str, Any]
Row = Sequence[Any]


class Query(NamedTuple):
    """How the records of a list are found."""

    node: str
    """The next node that has any."""
    page: str
    """The next ones of a node."""


def _query(suffix: str) -> Query:
    return Query(
        getattr(SQL, f"node{suffix}"),
        f"WITH keys AS ({getattr(SQL, f'keys{suffix}')}) {SQL.heads}",
    )


ANYWHERE, OF_SCOPE, OF_CHAT = _query(""), _query("_of_scope"), _query("_of_chat")


class Found(NamedTuple):
    """What the server says for one page."""

    group_id: str
    reader: str
    node_id: str
    rows: list[Row]
    """One more than asked for where the node has more."""
    has_later_node: bool


def list_shared(call: Call, group: KeptGroup, request: Mapping[str, Any]) -> Item:
    """One page of one node's records; the current-only test follows the paging (R-170)."""
    denied = Denied(call)
    for asked in _asked_scopes(request):
        denied.refuse_scope(asked)
    found = group.ask(call.settings, partial(find_page, request=request, now=call.now))
    listed, behind = _fit(call, found, request, denied)
    if behind is None:
        return {"records": listed, "next_cursor": None}
    cursor = write_cursor(behind, found.group_id, request)
    return {"records": listed, "next_cursor": cursor, "more": True}


def find_page(db: "GroupDatabase", request: Mapping[str, Any], now: int) -> Found:
    """The records of the next node behind the request's cursor.

    Raises InvalidCursor, and NotFound for a node that does not publish.
    """
    position = _position(db, request)
    query, key = query_of(request), {**key_of(request), "now": now}
    node, only = position.node_id, request.get("node_id")
    if only is not None:
        node = only
    elif position.record_id is None:
        node = _next_node(db, query, key, position.node_id)
    limit = request["limit"]
    behind = {"recorded_at": position.recorded_at, "record_id": position.record_id or ""}
    key |= {"node_id": node, "count": limit + 1, **behind}
    rows: list[Row] = [*db.all(query.page, key)] if node else []
    if only is not None and not rows and db.one(SQL.known_node, key) is None:
        raise NotFound(
            f"No node {only!r} publishes to this group; a shared list shows the node_id of each."
        )
    is_whole = bool(node) and only is None and len(rows) <= limit
    later = _next_node(db, query, key, node) if is_whole else ""
    return Found(db.group_id, db.member, node, rows, bool(later))


def _position(db: "GroupDatabase", request: Mapping[str, Any]) -> Position:
    """Where the page begins; of a node with the greatest time there is."""
    if "cursor" not in request:
        return Position("", NEWEST)
    position = read_cursor(request["cursor"], db.group_id, request)
    return position if position.record_id is not None else position._replace(recorded_at=NEWEST)


def _next_node(db: "GroupDatabase", query: Query, key: Mapping[str, Any], after: str) -> str:
    """The first node behind another with a record of the list; "" for none."""
    row = db.one(query.node, {**key, "after": after})
    return (row[0] if row else None) or ""


def query_of(request: Mapping[str, Any]) -> Query:
    """How the records that a request asks for are found."""
    if "chat" in request:
        return OF_CHAT
    return OF_SCOPE if "scope" in request else ANYWHERE


def key_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that its filters are in the queries."""
    names = ("kind", "state", "review")
    wanted = [
        facet
        for facet in FACETS
        if all(request.get(name) in (None, said) for name, said in zip(names, facet, strict=True))
    ]
    scope = scope_of(request["scope"]) if "scope" in request else None
    return {
        "kinds": [kind for kind, _, _ in wanted],
        "states": [state for _, state, _ in wanted],
        "reviews": [review for _, _, review in wanted],
        **scope_key(scope),
        "chat": request.get("chat"),
    }


def _asked_scopes(request: Mapping[str, Any]) -> list[Scope]:
    scopes = [scope_of(request["scope"])] if "scope" in request else []
    return scopes + ([Scope("chat", request["chat"])] if "chat" in request else [])


def _fit(
    call: Call, found: Found, request: Mapping[str, Any], denied: Denied
) -> tuple[list[Item], Position | None]:
    """As many records as a page may hold, and behind which one the next page begins."""
    limit = request["limit"]
    size = size_of({"records": [], "next_cursor": "-" * LONGEST_CURSOR, "more": True})
    records: list[Item] = []
    last = None
    for row in found.rows[:limit]:
        item = _listed(call, found, row, denied, request["include_inactive"])
        if item is not None:
            cost = size_of(item) + bool(records)
            if records and size + cost > PAGE_BYTES:
                return records, last
            records.append(item)
            size += cost
        last = Position(found.node_id, row[RECORDED_AT], row[RECORD_ID])
    if len(found.rows) > limit:
        return records, last
    return records, Position(found.node_id) if found.has_later_node else None


def _listed(
    call: Call, found: Found, row: Row, denied: Denied, include_inactive: bool
) -> Item | None:
    copy = copy_of(found.node_id, row)
    if copy is None or denied.has_record(copy.head):
        return None
    if status_of_head(copy.head, call.now) != "current" and not include_inactive:
        return None
    return copy.item(found.reader, call.now, masking(call.settings))
