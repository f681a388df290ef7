"""A small packet of memory for one exact scope: window, rank, fit. Writes nothing."""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from itertools import chain
from typing import Any, NamedTuple

from mash_plugin.memory.call import Call
from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import known_chat, scope_of
from mash_plugin.memory.start_order import RevisionOf, naming, start_order
from mash_plugin.memory.windows import Files, Window, review_window
from mash_plugin.records.budget import Outcome, pack, size_of
from mash_plugin.records.model import Revision, Scope
from mash_plugin.records.ranking import Placed, StartBoosts, rank_records
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import Head, load_head, successors, text_bytes
from mash_plugin.store.sqlite import Connection

EMPTY_ITEM_BYTES = 215
"""No item takes less beside its texts, its ID and its scope."""
Item = dict[str, Any]


class Ask(NamedTuple):
    """What is looked for, by a tool or by a hook."""

    scopes: Sequence[Scope]
    limit: int
    byte_budget: int
    terms: Sequence[str] = ()
    file: str | None = None
    include_review: bool = False
    is_hook: bool = False
    """Without candidates that read like instructions to an agent: nobody vouched for them."""
    since: int | None = None
    """Only what was recorded from then on."""
    told: frozenset[str] = frozenset()
    """Records that the reader knows: what they became, or what took their place, comes first."""
    branch: Callable[[], Files] | None = None
    """Tells the files that the branch changes, at a session's start; asked only for records."""
    is_explained: bool = False
    """Whether somebody wants to know of all records what became of them."""


class Recalled(NamedTuple):
    """A packet, and how recall came to it."""

    packet: Item
    heads: Mapping[str, Head]
    boosts: Mapping[str, StartBoosts]
    outcomes: list[tuple[Placed, Outcome]]
    """What became of the records, in their order; of all of them where that was asked for."""


def recall_records(call: Call, request: dict[str, Any]) -> Item:
    """The packet for a checked request."""
    from mash_plugin.memory.denied import Denied
    from mash_plugin.tokens import significant  # its patterns: not before a hook's first answer

    scope = scope_of(request["scope"])
    Denied(call).refuse_scope(scope)
    Denied(call, "recall").refuse_scope(scope)
    file = request.get("file")
    scopes = [scope]
    # Personal records are never added for a file.
    if request["include_personal"] and scope.kind != "personal" and file is None:
        scopes.append(Scope("personal"))
    ask = Ask(
        scopes,
        request["limit"],
        request["byte_budget"],
        terms=significant(request["query"]) if request.get("query") else (),
        file=file,
        include_review=request["include_review"],
    )
    if request.get("include_group"):
        return _with_group(call, ask)
    packet = recall(call, ask).packet
    if scope.kind == "chat" and not packet["records"]:
        known_chat(call.chats, scope.value)
    return packet


def _with_group(call: Call, ask: Ask) -> Item:
    """One's own records first; in the room that they leave, those of others, apart."""
    from mash_plugin.memory.group import filled, group_part  # most have no group

    part, items = group_part(call, ask.scopes[0].value, ask.terms, ask.file)
    room = ask.byte_budget - len(',"group":')
    packet = recall(call, ask._replace(byte_budget=room - size_of(part))).packet
    return {**packet, "group": filled(part, items, room - size_of(packet))}


def recall_for_hook(call: Call, ask: Ask) -> list[Item]:
    """The best records of all scopes together, as one list of items; paths are real ones."""
    records: list[Item] = recall(call, ask).packet["records"]
    return records


def recall(call: Call, ask: Ask) -> Recalled:
    """The packet and what became of each record on the way: the one place that decides it."""
    shown = masking(call.settings)
    outcomes: list[tuple[Placed, Outcome]] = []
    with call.store.reading() as db:
        found = _windows(call, db, list(dict.fromkeys(ask.scopes)), ask.include_review)
        heads = ChainMap(*(window.heads for window in found))
        conflicts = frozenset[str]().union(*(window.conflicts for window in found))

        def revision_of(head: Head) -> Revision | None:
            return _revision(call, db, found, head)

        def to_item(placed: Placed) -> Item | Outcome:
            head = heads[placed[1].id]
            revision = revision_of(head)
            if revision is None:
                return "damaged"
            if ask.is_hook and not _may_speak(head, revision):
                return "suspicious"
            status = status_of_head(head, call.now)
            return item_of(head, revision, status, head.id in conflicts, shown)

        ordered, boosts = _in_order(call, db, found, ask, revision_of)
        if ask.since is not None:
            ordered = _recorded_since(ordered, ask.since)
        if ask.told:
            known = successors(db, ask.told)
            ordered = iter(sorted(ordered, key=lambda placed: placed[1].id not in known))
        relevant, rest = _split(ordered, ask, call.now)
        packet = pack(
            relevant,
            rest,
            to_item,
            _least_size(db, heads),
            ask.limit,
            ask.byte_budget,
            any(window.scan_limited for window in found),
            lambda placed, outcome: outcomes.append((placed, outcome)),
        )
        if ask.is_explained:
            outcomes += [(placed, "limit") for placed in chain(relevant, rest)]
    return Recalled(packet, heads, boosts, outcomes)


def _in_order(
    call: Call, db: Connection, found: Sequence[Window], ask: Ask, revision_of: RevisionOf
) -> tuple[Iterator[Placed], Mapping[str, StartBoosts]]:
    """The records of all windows, best first but for the words, and why some come forward."""
    if ask.file is not None:
        return merge(*(naming(window, ask.file, revision_of) for window in found)), {}
    if ask.branch is None or not any(window.heads for window in found):
        return merge(*(window.ordered for window in found)), {}
    files = ask.branch()
    orders = [start_order(db, window, files, call.now, revision_of) for window in found]
    return merge(*(o.ordered for o in orders)), ChainMap(*(o.boosts for o in orders))


def _recorded_since(ordered: Iterator[Placed], since: int) -> Iterator[Placed]:
    return (placed for placed in ordered if placed[1].recorded_at >= since)


def _split(
    ordered: Iterator[Placed], ask: Ask, now: int
) -> tuple[Iterator[Placed], Iterator[Placed]]:
    """The relevant records and the rest."""
    if not ask.terms:
        return ordered, iter(())
    relevant, rest = rank_records(list(ordered), ask.terms, now)
    return iter(relevant), iter(rest)


def _may_speak(head: Head, revision: Revision) -> bool:
    return head.review == "established" or not reads_like_instruction(revision.body)


def _windows(
    call: Call, db: Connection, scopes: Sequence[Scope], include_review: bool
) -> list[Window]:
    if not include_review:
        return call.windows.find(db, scopes, call.now)
    owner = identity_of(db).owner
    return [review_window(db, owner, scope, call.now) for scope in scopes]


def _least_size(db: Connection, heads: Mapping[str, Head]) -> Callable[[Placed], int]:
    """What an item surely takes; the texts are measured together, once something did not fit."""

    @cache
    def sizes() -> dict[str, int]:
        return text_bytes(db, heads)

    def least_size(placed: Placed) -> int:
        record_id = placed[1].id
        scope_value = heads[record_id].scope_value
        return EMPTY_ITEM_BYTES + len(record_id) + len(scope_value) + sizes()[record_id]

    return least_size


def _revision(call: Call, db: Connection, windows: Sequence[Window], head: Head) -> Revision | None:
    window = next(w for w in windows if head.id in w.heads)
    revision = window.revisions.get(head.id) or load_head(db, head)
    if revision is None:
        call.on_damaged(head.id)
    else:
        window.revisions[head.id] = revision
    return revision
