"""One published copy whole: its wordings with their evidence, and its links. Writes nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mash_plugin.errors import NotFound
from mash_plugin.group.items import (
    HEAD_COLUMNS,
    QUOTE,
    Copy,
    copy_of,
    evidence_of,
    inert,
    revision_of,
)
from mash_plugin.group.kept import KeptGroup
from mash_plugin.group.reads import NEWEST, SQL, Item, Row
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.items import is_head_in_force
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.memory.reading import (
    LINK_BYTES,
    LINKS,
    MAX_NUMBER,
    REVISIONS,
    page_of_record,
    revision_json,
)
from mash_plugin.records.budget import PAGE_BYTES, page, size_of
from mash_plugin.records.lifecycle import is_in_force
from mash_plugin.records.model import Evidence

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

EVIDENCE_SHOWN = 128
"""Citations of one revision; ours have 32 at most, and one more with each confirmation."""
COPY = f"WITH keys AS ({SQL.key_of_record}) {SQL.heads}"
Confirmations = list[tuple[str, int]]


class Whole(NamedTuple):
    """What the server says for one page of a copy."""

    copy: Copy
    reader: str
    wordings: list[Row]
    """One more than asked for where there are more."""
    evidence: Mapping[int, list[Evidence]]
    confirmations: Mapping[int, Confirmations]
    links: list[Row]
    """The same."""


def get_shared(call: Call, group: KeptGroup, request: Mapping[str, Any]) -> Item:
    """The copy that a node published, with a page of its revisions and one of its links."""
    whole = group.ask(call.settings, partial(find_copy, request=request, now=call.now))
    head, denied = whole.copy.head, Denied(call)
    denied.refuse_record(head)
    shown, start = masking(call.settings), request["link_offset"]
    record = whole.copy.item(whole.reader, call.now, shown)
    room = PAGE_BYTES - size_of(page_of_record(record, [], MAX_NUMBER, [], MAX_NUMBER))
    if request["history"]:
        links, next_link = _links(call, whole, start, LINK_BYTES, denied, shown)
        limit = request.get("limit") or REVISIONS
        revisions, next_before = _revisions(whole, limit, room - size_of(links), shown)
    else:
        revisions, next_before = _revisions(whole, 1, room, shown)
        links, next_link = _links(call, whole, start, room - size_of(revisions), denied, shown)
    return page_of_record(record, revisions, next_before, links, next_link)


def find_copy(db: "GroupDatabase", request: Mapping[str, Any], now: int) -> Whole:
    """Everything of a copy that one page may show. Raises NotFound."""
    key = {"node_id": request["node_id"], "record_id": request["id"]}
    row = db.one(COPY, {**key, "now": now})
    copy = copy_of(request["node_id"], row) if row is not None else None
    if row is None or copy is None:
        raise NotFound(
            f"Node {request['node_id']!r} has published no record {request['id']!r} to this group:"
            " see list_records with shared: true. Its owner may have removed it."
        )
    key["scope_value"] = copy.head.scope_value
    wordings: list[Row] = [row[HEAD_COLUMNS + 1 :]]
    if request["history"]:
        before = request.get("before_revision") or NEWEST
        count = (request.get("limit") or REVISIONS) + 1
        wordings = [*db.all(SQL.revisions, {**key, "before": before, "count": count})]
    which = {**key, "revisions": [wording[0] for wording in wordings]}
    cited = db.all(SQL.evidence, {**which, "count": EVIDENCE_SHOWN, "longest": QUOTE})
    evidence: dict[int, list[Evidence]] = defaultdict(list)
    for revision, *citation in cited:
        evidence[revision].append(evidence_of(citation))
    confirmations: dict[int, Confirmations] = defaultdict(list)
    for revision, message_id, at in db.all(SQL.confirmations, which):
        confirmations[revision].append((inert(message_id), at))
    page_of_links = {**key, "start": request["link_offset"], "count": LINKS + 1}
    links: list[Row] = [*db.all(SQL.links, page_of_links)]
    return Whole(copy, db.member, wordings, evidence, confirmations, links)


def _revisions(
    whole: Whole, limit: int, room: int, shown: Masking
) -> tuple[list[Item], int | None]:
    """A page of the history; the cursor passes a wording that is none."""
    items: list[Item] = []
    size, passed = 0, None
    for wording in whole.wordings[:limit]:
        number = wording[0]
        revision = revision_of(whole.copy.head.kind, wording, whole.evidence[number])
        if revision is not None:
            item = revision_json(revision, whole.confirmations[number], shown)
            size += size_of(item) + bool(items)
            if items and size > room:
                break
            items.append(item)
        passed = number
    last = whole.wordings[-1][0] if whole.wordings else None
    return items, passed if passed != last else None


def _links(
    call: Call, whole: Whole, start: int, room: int, denied: Denied, shown: Masking
) -> tuple[list[Item], int | None]:
    links, _ = page(_linked(call, whole, denied, shown), LINKS, room, {})
    return links, start + len(links) if len(links) < len(whole.links) else None


def _linked(call: Call, whole: Whole, denied: Denied, shown: Masking) -> Iterator[Item]:
    head = whole.copy.head
    is_own_live = is_head_in_force(head, call.now)
    for direction, relation, other, statement, state, *more in whole.links:
        retired, begins, ends, recorded_at, scope_kind, scope_value = more
        is_shown = not denied.has_scope(scope_kind, scope_value)
        is_live = is_in_force(bool(retired), begins, ends, call.now)
        yield {
            "direction": direction,
            "relation": relation,
            "id": inert(other),
            "statement": shown(inert(statement)) if is_shown else "",
            "state": inert(state),
            "active": is_own_live and is_live,
            "recorded_at": recorded_at,
        }
