"""Why recall shows what it shows, read off the very run that chose it; for a person who asks."""

from collections.abc import Iterator
from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.recall import Ask, Recalled, recall
from mash_plugin.memory.start_order import naming
from mash_plugin.memory.windows import Window, review_window
from mash_plugin.records.model import Revision
from mash_plugin.records.ranking import Placed, boosts
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import Head, load_head, other_owners
from mash_plugin.store.sqlite import Connection

Json = dict[str, Any]


def explain_recall(call: Call, ask: Ask) -> Json:
    """The records that were looked at, in their order, and those that never are, with reasons."""
    recalled = recall(call, ask._replace(is_explained=True))
    items = {item["id"]: item for item in recalled.packet["records"]}
    rows = []
    with call.store.reading() as db:
        for placed, outcome in recalled.outcomes:
            record = placed[1]
            told = items.get(record.id) or _told(call, db, recalled.heads[record.id], False)
            rows.append({**told, "outcome": outcome, **_points(placed, recalled, call.now)})
        left_out = list(_left_out(call, db, ask, recalled))
    return {
        "records": rows,
        "left_out": left_out,
        "limit": ask.limit,
        "byte_budget": ask.byte_budget,
        "scan_limited": recalled.packet["scan_limited"],
    }


def _points(placed: Placed, recalled: Recalled, now: int) -> Json:
    """The points that ranking counted, and for what; what is left were words."""
    (_, _, negative, _, _), record = placed
    own, start = boosts(record, now), recalled.boosts.get(record.id)
    started = start.parts if start else (0, 0)
    points = {
        "words": -negative - sum(own) - sum(started),
        "confirmations": own.confirmations,
        "recency": own.recency,
        "branch": started[0],
        "cited": started[1],
    }
    told: Json = {"points": points, "total": -negative}
    return told | ({"branch_file": start.branch_file} if start and start.branch_file else {})


def _left_out(call: Call, db: Connection, ask: Ask, recalled: Recalled) -> Iterator[Json]:
    """What is never looked at: contradicted, stale, out of force, or another owner's."""
    owner = identity_of(db).owner
    others = other_owners(db, owner)
    for scope in dict.fromkeys(ask.scopes):
        window = review_window(db, owner, scope, call.now)
        for _, record in _about(db, window, ask.file):
            if record.id in recalled.heads:
                continue
            is_conflicted = record.id in window.conflicts
            told = _told(call, db, window.heads[record.id], is_conflicted)
            yield told | {"outcome": "conflicted" if is_conflicted else told["status"]}
        for other in others:
            window = review_window(db, other, scope, call.now)
            for _, record in _about(db, window, ask.file):
                told = _told(call, db, window.heads[record.id], False)
                yield told | {"owner": other, "outcome": "other_owner"}


def _about(db: Connection, window: Window, file: str | None) -> Iterator[Placed]:
    def revision_of(head: Head) -> Revision | None:
        return load_head(db, head)

    return naming(window, file, revision_of) if file else iter(window.ordered)


def _told(call: Call, db: Connection, head: Head, is_conflicted: bool) -> Json:
    status = status_of_head(head, call.now)
    revision = load_head(db, head)
    if revision is None:
        return {"id": head.id, "kind": head.kind, "status": status, "review": head.review}
    return item_of(head, revision, status, is_conflicted, masking(call.settings))
