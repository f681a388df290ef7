"""What others of the group established in a repository, out of a copy on this machine.

Their text is somebody else's: it stands apart from the person's own, under their names, and
what the person already has in the same words is not repeated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.group_copy import GroupCopy, GroupRecord
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.memory.windows import Window
from mash_plugin.records.budget import size_of
from mash_plugin.records.lifecycle import is_in_force
from mash_plugin.records.model import Scope
from mash_plugin.records.ranking import Placed, rank_records, standing
from mash_plugin.store.records import load_head
from mash_plugin.store.sqlite import Connection

SHOWN = 2
OLDEST_MS = 7 * 86_400_000
"""A copy that nobody could renew for a week speaks for nobody any more."""
OFF = "[recall] group is off, or no group is joined on this machine."
NO_COPY = "No copy of this repository's group records is here yet; it is fetched in the background."
SWITCHED_OFF = "A .mash file of this repository says group = off."
NOT_FOR_FILES = "Records of the group are not looked for by file: leave file out."
Item = dict[str, Any]


def group_for_hook(call: Call, identity: str) -> tuple[list[Item], int]:
    """Up to two records for the start of a session, and when they were read."""
    copy = _copy(call, identity)
    if copy is None:
        return [], 0
    spoken = (r for r in copy.records if not r.is_suspicious)
    return _chosen(call, identity, spoken), copy.read_at


def group_part(
    call: Call, identity: str, terms: Sequence[str], file: str | None
) -> tuple[Item, list[Item]]:
    """What recall_records adds where it was asked for, still empty, and what may go into it."""
    why = OFF if call.group is None else NOT_FOR_FILES if file else None
    if why is None and _is_switched_off(call, identity):
        why = SWITCHED_OFF
    copy = None if why else _copy(call, identity)
    if copy is None:
        return {"records": [], "note": why or NO_COPY}, []
    matching = _matching(list(copy.records), terms, call.now)
    return {"records": [], "read_at": copy.read_at}, _chosen(call, identity, matching)


def filled(part: Item, items: Iterable[Item], room: int) -> Item:
    """The part with those items that fit into so many bytes."""
    for item in items:
        fuller = {**part, "records": [*part["records"], item]}
        if size_of(fuller) <= room:
            part = fuller
    return part


def _is_switched_off(call: Call, identity: str) -> bool:
    """By a `.mash` file: the lists of [group] name what is not published, which may be read."""
    from mash_plugin.memory.denied import Denied

    without_lists = call.settings._replace(group_only=(), group_never=())
    denied = Denied(call._replace(settings=without_lists), "group")
    return denied.has_scope("repository", identity)


def _copy(call: Call, identity: str) -> GroupCopy | None:
    copy = call.group.look(identity, call.now) if call.group is not None else None
    return None if copy is None or call.now - copy.read_at > OLDEST_MS else copy


def _matching(
    records: Sequence[GroupRecord], terms: Sequence[str], now: int
) -> Iterator[GroupRecord]:
    """Those with a word of the query, the best first; all of them without one."""
    by_name = {record.ranked.id: record for record in records}
    placed: list[Placed] = [(standing(r.ranked, now), r.ranked) for r in records]
    relevant, _ = rank_records(placed, terms, now)
    return (by_name[ranked.id] for _, ranked in relevant)


def _chosen(call: Call, identity: str, records: Iterable[GroupRecord]) -> list[Item]:
    shown = masking(call.settings)
    with call.store.reading() as db:
        [own] = call.windows.find(db, [Scope("repository", identity)], call.now)
        live = (r for r in records if is_in_force(False, r.effective_at, r.valid_until, call.now))
        new = _unlike_each_other(r for r in live if not _is_own(db, own, r))
        return [_item(record, identity, shown) for record in islice(new, SHOWN)]


def _unlike_each_other(records: Iterable[GroupRecord]) -> Iterator[GroupRecord]:
    seen: set[str] = set()
    for record in records:
        words = _folded(record.statement)
        if words not in seen:
            seen.add(words)
            yield record


def _is_own(db: Connection, own: Window, record: GroupRecord) -> bool:
    """Whether a record of the person says the same; its words tell which may."""
    for head in own.heads.values():
        if head.strong_tokens.startswith(record.statement_tokens):
            revision = own.revisions.get(head.id) or load_head(db, head)
            if revision and _folded(revision.body.statement) == _folded(record.statement):
                return True
    return False


def _folded(text: str) -> str:
    return " ".join(text.split()).rstrip(".").casefold()


def _item(record: GroupRecord, identity: str, shown: Masking) -> Item:
    """As recall shows one's own, and whose it is."""
    item: Item = {
        "id": record.id,
        "revision": record.revision,
        "kind": record.kind,
        "status": "current",
        "state": record.state,
        "review": "established",
        "statement": shown(record.statement),
        "scope": Scope("repository", identity).as_json(),
        "recorded_by": shown(record.recorded_by),
        "recorded_at": record.recorded_at,
        "confirmations": record.confirmations,
        "evidence": "matching",
        "owner": record.owner,
        "label": f"established by {record.owner}, not by this person",
        "node_id": record.node_id,
    }
    more: Mapping[str, object] = {
        "decided_by": record.decided_by,
        "effective_at": record.effective_at,
        "valid_until": record.valid_until,
        "reported_by": shown(record.reported_by) if record.reported_by else None,
        "alternatives": [shown(text) for text in record.alternatives],
        "consequences": [shown(text) for text in record.consequences],
        "conditions": [shown(text) for text in record.conditions],
    }
    return item | {name: value for name, value in more.items() if value not in (None, [])}
