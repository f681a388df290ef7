"""Read records completely: one with its evidence, or all of them page by page. Writes nothing."""

from collections.abc import Iterable
from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.heads import (
    intact_revision,
    item_of_head,
    readable_revision,
    visible_head,
)
from mash_plugin.memory.items import is_head_in_force, kind_fields, status_of_head
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.budget import PAGE_BYTES, page, size_of
from mash_plugin.records.model import Revision, Scope
from mash_plugin.store.records import (
    Head,
    Linked,
    get_head,
    list_confirmations,
    list_heads,
    list_links,
    list_revisions,
    load_head,
    load_revision,
)
from mash_plugin.store.sqlite import Connection

LINK_BYTES = 12_288
"""What the links may take of a page of the history."""
REVISIONS, LINKS = 8, 128
MAX_NUMBER = 1_000_000_000
"""No revision and no offset is written longer."""
AT_THE_TERMINAL = "by the person at the terminal"
"""The origin of a revision that no tool can claim."""
Item = dict[str, Any]


def get_record(call: Call, request: dict[str, Any]) -> Item:
    """One record with the evidence of its head, or of a page of its revisions.

    Each of the two lists holds at least one item while there is one, so that paging always
    advances: only a revision of the greatest size makes an answer longer than a page (R-107).
    """
    shown, denied = masking(call.settings), Denied(call)
    with call.store.reading() as db:
        head = visible_head(db, request["id"])
        denied.refuse_record(head)
        revision = intact_revision(call, db, head)
        record = item_of_head(call, db, head, revision)
        room = PAGE_BYTES - size_of(page_of_record(record, [], MAX_NUMBER, [], MAX_NUMBER))
        if not request["history"]:
            confirmed = list_confirmations(db, head.id, revision.revision)
            revisions, next_before = [revision_json(revision, confirmed, shown)], None
            room -= size_of(revisions)
            links, next_link = _links(db, call, head, request["link_offset"], room, shown)
        else:
            links, next_link = _links(db, call, head, request["link_offset"], LINK_BYTES, shown)
            room -= size_of(links)
            revisions, next_before = _revisions(db, call, head, request, room, shown)
    return page_of_record(record, revisions, next_before, links, next_link)


def page_of_record(
    record: Item,
    revisions: list[Item],
    next_before: int | None,
    links: list[Item],
    next_link: int | None,
) -> Item:
    """A record with some of its revisions and links, and where the rest of each begins."""
    return {
        "record": record,
        "revisions": revisions,
        "next_before_revision": next_before,
        "links": links,
        "next_link_offset": next_link,
    }


def list_records(call: Call, request: dict[str, Any]) -> Item:
    """One page of all records; the current-only test follows the paging (R-094)."""
    start, limit = request["offset"], request["limit"]
    denied = Denied(call)
    scope = scope_of(request["scope"]) if "scope" in request else None
    for asked in (scope, Scope("chat", request["chat"]) if request.get("chat") else None):
        if asked is not None:
            denied.refuse_scope(asked)
    with call.store.reading() as db:
        heads = list_heads(
            db,
            scope,
            request.get("kind"),
            request.get("state"),
            request.get("review"),
            request.get("chat"),
            start,
            limit + 1,
        )
        records: list[Item] = []
        size = size_of({"records": [], "next_offset": start + limit, "more": True})
        for position, head in enumerate(heads[:limit]):
            if denied.has_record(head):
                continue
            item = _listed(db, call, head, request["include_inactive"])
            if item is None:
                continue
            cost = size_of(item) + bool(records)
            if records and size + cost > PAGE_BYTES:
                return _listed_page(records, start + position)
            records.append(item)
            size += cost
    return _listed_page(records, start + limit if len(heads) > limit else None)


def _listed_page(records: list[Item], next_offset: int | None) -> Item:
    """Say in words that a next page exists: one may be empty before the end."""
    page = {"records": records, "next_offset": next_offset}
    return page if next_offset is None else {**page, "more": True}


def _listed(db: Connection, call: Call, head: Head, include_inactive: bool) -> Item | None:
    if status_of_head(head, call.now) != "current" and not include_inactive:
        return None
    revision = readable_revision(call, db, head)
    return None if revision is None else item_of_head(call, db, head, revision)


def _revisions(
    db: Connection, call: Call, head: Head, request: Item, room: int, shown: Masking
) -> tuple[list[Item], int | None]:
    """A page of the history; the cursor passes a damaged revision, which is not shown."""
    limit = request.get("limit") or REVISIONS
    numbers = list_revisions(db, head.id, request.get("before_revision"), limit + 1)
    items: list[Item] = []
    size, passed = 0, None
    for number in numbers[:limit]:
        revision = load_revision(db, head, number)
        if revision is None:
            call.on_damaged(head.id)
        else:
            confirmed = list_confirmations(db, head.id, number)
            item = revision_json(revision, confirmed, shown)
            size += size_of(item) + bool(items)
            if items and size > room:
                break
            items.append(item)
        passed = number
    return items, passed if numbers and passed != numbers[-1] else None


def revision_json(
    revision: Revision, confirmations: Iterable[tuple[str, int]], shown: Masking
) -> Item:
    """One wording with the citations that it rests on."""
    body = revision.body
    text: Item = {
        "statement": shown(body.statement),
        "recorded_by": shown(body.recorded_by),
        "review": body.review,
        "details": {"kind": body.kind, "state": body.state, **kind_fields(revision, shown)},
    }
    if body.effective_at is not None:
        text["effective_at"] = body.effective_at
    return {
        "revision": revision.revision,
        "body": text,
        "recorded_at": revision.recorded_at,
        **({"origin": AT_THE_TERMINAL} if revision.origin == "terminal" else {}),
        "evidence": [
            {
                "chat_id": e.chat_id,
                "message_id": e.message_id,
                "quote": shown(e.quote),
                "purpose": e.purpose,
                "role": e.role,
                "author": e.author,
                "status": e.status,
                "added_by": e.added_by,
                "recorded_at": e.recorded_at,
            }
            for e in revision.evidence
        ],
        "confirmation_history": [
            {"message_id": message_id, "confirmed_at": confirmed_at}
            for message_id, confirmed_at in confirmations
        ],
    }


def _links(
    db: Connection, call: Call, head: Head, start: int, room: int, shown: Masking
) -> tuple[list[Item], int | None]:
    found = list_links(db, head.id, start, LINKS + 1)
    own = is_head_in_force(head, call.now)
    denied = Denied(call)
    items = (_link(db, call, link, own, denied, shown) for link in found)
    links, _ = page(items, LINKS, room, {})
    return links, start + len(links) if len(links) < len(found) else None


def _link(
    db: Connection, call: Call, link: Linked, own_in_force: bool, denied: Denied, shown: Masking
) -> Item:
    other = get_head(db, link.id)
    is_shown = other and not denied.has_record(other)
    revision = load_head(db, other) if other and is_shown else None
    return {
        "direction": link.direction,
        "relation": link.relation,
        "id": link.id,
        "statement": shown(revision.body.statement) if revision else "",
        "state": link.state,
        "active": own_in_force and is_head_in_force(link, call.now),
        "recorded_at": link.recorded_at,
    }
