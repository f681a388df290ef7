"""What a person looks through: records by filters, with counts; nothing is written."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.heads import (
    intact_revision,
    item_of_head,
    readable_revision,
    visible_head,
)
from mash_plugin.memory.items import is_head_in_force, item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.model import Scope
from mash_plugin.spellings import all_spellings
from mash_plugin.store import browse
from mash_plugin.store.browse import Filters, Group
from mash_plugin.store.records import (
    Head,
    Linked,
    conflicted_among,
    get_head,
    list_links,
    load_head,
    owner_and_version,
)
from mash_plugin.store.sqlite import Connection
from mash_plugin.tokens import words

Json = dict[str, Any]
WORDS = 8
COUNTED_KEPT = 16
MOST_ROWS = 2_000
"""So many that are found are picked out one by one; of more, the newest are soon met."""
FEW_ROWS = 200
"""Only where so few are found are other spellings looked for, which takes longer."""
LINKS_OF_ONE = 24
NODES = 32
FACETS = ("kind", "state", "review", "decided_by")

_counted: dict[tuple[object, ...], Any] = {}
"""(owner, version of the store, minute, what) → what was counted then."""


def view_records(call: Call, request: Json) -> Json:
    """A page of records under filters, and how many more each filter would show."""
    filters = _filters(request)
    denied = Denied(call)
    if filters.scope is not None:
        denied.refuse_scope(filters.scope)
    limit, after = request["limit"], request.get("after")
    with call.store.reading() as db:
        cursor = (after["at"], after["id"]) if after else None
        groups = [g for g in _groups(call, db, filters) if _is_shown(denied, g)]
        fitting = [g for g in groups if _fits(g, filters)]
        total = sum(g.records for g in fitting)
        rows = _rows(fitting, total)
        heads = browse.page(db, filters, cursor, call.now, limit + 1, rows) if total else []
        shown = [h for h in heads[:limit] if not denied.has_record(h)]
        items = list(_items(call, db, shown))
        contradicting = _groups(call, db, filters._replace(is_conflicted=True))
    last = heads[limit - 1] if len(heads) > limit else None
    return {
        "records": items,
        "next": {"at": last.recorded_at, "id": last.id} if last else None,
        "total": total,
        "counts": {
            **_counts(groups, filters),
            "conflicted": sum(
                g.records for g in contradicting if _is_shown(denied, g) and _fits(g, filters)
            ),
        },
    }


def view_days(call: Call, request: Json) -> Json:
    """How many records were saved on each day since a moment, of all scopes or of one."""
    scope = scope_of(request["scope"]) if "scope" in request else None
    denied = Denied(call)
    with call.store.reading() as db:
        since = request["since"]
        found = _kept(call, db, f"days {since}", partial(browse.days, db, since))
    counts: Counter[str] = Counter()
    for day, at, count in found:
        if scope in (None, at) and not denied.has_scope(at.kind, at.value):
            counts[day] += count
    return {"days": [{"day": day, "records": counts[day]} for day in sorted(counts)]}


def view_graph(call: Call, request: Json) -> Json:
    """A record, its links, and the whole chain of what replaced what, as far as is shown."""
    denied = Denied(call)
    with call.store.reading() as db:
        start = visible_head(db, request["id"])
        denied.refuse_record(start)
        nodes = {start.id: item_of_head(call, db, start, intact_revision(call, db, start))}
        edges: dict[tuple[str, str, str], Json] = {}
        waiting = [start]
        while waiting and len(nodes) < NODES:
            here = waiting.pop(0)
            for link, other in _linked(db, here, denied):
                is_chain = link.relation == "supersedes"
                if not (is_chain or here.id == start.id):
                    continue
                edge = _edge(here, link, other, call.now)
                edges[edge["from"], edge["to"], link.relation] = edge
                revision = load_head(db, other)
                if other.id not in nodes and revision is not None:
                    nodes[other.id] = item_of_head(call, db, other, revision)
                    waiting += [other] if is_chain else []
    known = [e for e in edges.values() if e["from"] in nodes and e["to"] in nodes]
    return {"records": list(nodes.values()), "links": known}


def items_by_id(call: Call, db: Connection, record_ids: Iterable[str]) -> dict[str, Json]:
    """Those of the records that may be shown, as lists show them."""
    denied = Denied(call)
    heads = [head for name in record_ids if (head := get_head(db, name)) is not None]
    shown = [h for h in heads if h.hidden_at is None and not denied.has_record(h)]
    return {item["id"]: item for item in _items(call, db, shown)}


def _linked(db: Connection, here: Head, denied: Denied) -> Iterator[tuple[Linked, Head]]:
    for link in list_links(db, here.id, 0, LINKS_OF_ONE):
        other = get_head(db, link.id)
        if other is not None and not denied.has_record(other):
            yield link, other


def _edge(here: Head, link: Linked, other: Head, now: int) -> Json:
    is_outgoing = link.direction == "outgoing"
    return {
        "from": here.id if is_outgoing else other.id,
        "to": other.id if is_outgoing else here.id,
        "relation": link.relation,
        "recorded_at": link.recorded_at,
        "is_active": is_head_in_force(here, now) and is_head_in_force(other, now),
    }


def _items(call: Call, db: Connection, heads: list[Head]) -> Iterable[Json]:
    conflicted = conflicted_among(db, [head.id for head in heads], call.now)
    shown = masking(call.settings)
    for head in heads:
        revision = readable_revision(call, db, head)
        if revision is not None:
            status = status_of_head(head, call.now)
            yield item_of(head, revision, status, head.id in conflicted, shown)


def _filters(request: Json) -> Filters:
    text = request.get("text", "")
    found = tuple(dict.fromkeys(words(text)))[:WORDS]
    return Filters(
        kind=request.get("kind"),
        state=request.get("state"),
        review=request.get("review", "established" if "decided_by" in request else None),
        decided_by=request.get("decided_by"),
        scope=scope_of(request["scope"]) if "scope" in request else None,
        is_stale=request["stale"],
        is_conflicted=request["conflicted"],
        words=found,
        spelled=all_spellings(text)[:WORDS],
    )


def _groups(call: Call, db: Connection, filters: Filters) -> list[Group]:
    key = f"groups {filters.words} {'conflicted' if filters.is_conflicted else ''}"

    def count() -> list[Group]:
        found = browse.groups(db, filters, call.now)
        if filters.spelled and not filters.is_conflicted and _total(found) <= FEW_ROWS:
            more = browse.respelled(db, filters.spelled)
            found = more if _total(more) <= MOST_ROWS else found
        return [g._replace(rows=None) if g.records > MOST_ROWS else g for g in found]

    found: list[Group] = _kept(call, db, key, count)
    return found


def _total(groups: list[Group]) -> int:
    return sum(group.records for group in groups)


def _rows(groups: list[Group], total: int) -> str | None:
    """The rows of these groups, where they are known and few."""
    known = [group.rows for group in groups if group.rows]
    return ",".join(known) if total <= MOST_ROWS and len(known) == len(groups) else None


def _kept(call: Call, db: Connection, key: str, count: Callable[[], Any]) -> Any:  # noqa: ANN401
    """What was counted of this version of the store; what hangs on the time, of this minute."""
    minute = call.now // 60_000 if "conflicted" in key else 0
    version = owner_and_version(db)
    found = _counted.get((*version, minute, key))
    if found is None:
        if len(_counted) >= COUNTED_KEPT:
            _counted.clear()
        found = _counted[*version, minute, key] = count()
    return found


def _fits(group: Group, filters: Filters, without: str = "") -> bool:
    """Whether the filters, but for one of them, let this group through."""
    for name in FACETS:
        wanted = getattr(filters, name)
        if name != without and wanted is not None and getattr(group, name) != wanted:
            return False
    if without != "stale" and filters.is_stale and not group.stale:
        return False
    return without == "scope" or filters.scope in (None, group.scope)


def _counts(groups: list[Group], filters: Filters) -> Json:
    told: Json = {}
    for name in FACETS:
        counter: Counter[str] = Counter()
        for group in groups:
            if name == "decided_by" and group.review == "candidate":
                continue  # nobody has decided it yet
            if getattr(group, name) is not None and _fits(group, filters, name):
                counter[getattr(group, name)] += group.records
        told[name] = dict(counter.most_common())
    told["stale"] = sum(g.records for g in groups if g.stale and _fits(g, filters, "stale"))
    scopes: Counter[Scope] = Counter()
    for group in groups:
        if _fits(group, filters, "scope"):
            scopes[group.scope] += group.records
    told["scopes"] = [
        {"scope": scope.as_json(), "count": count} for scope, count in scopes.most_common()
    ][:200]
    return told


def _is_shown(denied: Denied, group: Group) -> bool:
    return not denied.has_scope(*group.scope)
