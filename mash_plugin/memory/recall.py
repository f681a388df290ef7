"""A small packet of memory for one exact scope: window, rank, fit. Writes nothing."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import known_chat, scope_of
from mash_plugin.memory.windows import Placed, Window, review_window
from mash_plugin.records.budget import pack
from mash_plugin.records.files import mentions_path
from mash_plugin.records.model import Revision, Scope
from mash_plugin.records.ranking import Ranked, rank_records
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import Head, load_head, text_bytes
from mash_plugin.store.sqlite import Connection

EMPTY_ITEM_BYTES = 215
"""No item takes less beside its texts, its ID and its scope."""
Item = dict[str, Any]
Test = Callable[[Head, Revision], bool]


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
    packet = _recall(
        call,
        scopes,
        terms=significant(request["query"]) if request.get("query") else [],
        file=file,
        limit=request["limit"],
        byte_budget=request["byte_budget"],
        include_review=request["include_review"],
        is_fit=lambda _head, _revision: True,
    )
    if scope.kind == "chat" and not packet["records"]:
        known_chat(call.chats, scope.value)
    return packet


def recall_for_hook(
    call: Call, scopes: Sequence[Scope], file: str | None, limit: int, byte_budget: int
) -> list[Item]:
    """The best records of these scopes together, as one list of items; paths are real ones.

    Candidates that read like instructions to an agent stay out: nobody vouched for them.
    """
    packet = _recall(
        call,
        scopes,
        terms=[],
        file=file,
        limit=limit,
        byte_budget=byte_budget,
        include_review=False,
        is_fit=lambda head, revision: (
            head.review == "established" or not reads_like_instruction(revision.body)
        ),
    )
    records: list[Item] = packet["records"]
    return records


def _recall(
    call: Call,
    scopes: Sequence[Scope],
    terms: Sequence[str],
    file: str | None,
    limit: int,
    byte_budget: int,
    include_review: bool,
    is_fit: Test,
) -> Item:
    shown = masking(call.settings)
    with call.store.reading() as db:
        found = _windows(call, db, list(dict.fromkeys(scopes)), include_review)
        heads = ChainMap(*(window.heads for window in found))
        conflicts = frozenset[str]().union(*(window.conflicts for window in found))

        def revision_of(head: Head) -> Revision | None:
            return _revision(call, db, found, head)

        placed: list[Iterable[Placed]] = [window.ordered for window in found]
        if file is not None:
            placed = [_naming(window, file, revision_of) for window in found]
        relevant: Iterable[Ranked] = (ranked for _, ranked in merge(*placed))
        rest: Iterable[Ranked] = ()
        if terms:
            relevant, rest = rank_records(list(relevant), terms, call.now)

        def to_item(ranked: Ranked) -> Item | None:
            head = heads[ranked.id]
            revision = revision_of(head)
            if revision is None or not is_fit(head, revision):
                return None
            status = status_of_head(head, call.now)
            return item_of(head, revision, status, head.id in conflicts, shown)

        scan_limited = any(window.scan_limited for window in found)
        least_size = _least_size(db, heads)
        return pack(relevant, rest, to_item, least_size, limit, byte_budget, scan_limited)


def _windows(
    call: Call, db: Connection, scopes: Sequence[Scope], include_review: bool
) -> list[Window]:
    if not include_review:
        return call.windows.find(db, scopes, call.now)
    owner = identity_of(db).owner
    return [review_window(db, owner, scope, call.now) for scope in scopes]


def _least_size(db: Connection, heads: Mapping[str, Head]) -> Callable[[Ranked], int]:
    """What an item surely takes; the texts are measured together, once something did not fit."""

    @cache
    def sizes() -> dict[str, int]:
        return text_bytes(db, heads)

    def least_size(ranked: Ranked) -> int:
        scope_value = heads[ranked.id].scope_value
        return EMPTY_ITEM_BYTES + len(ranked.id) + len(scope_value) + sizes()[ranked.id]

    return least_size


def _naming(
    window: Window, file: str, revision_of: Callable[[Head], Revision | None]
) -> Iterator[Placed]:
    """The records of a window that name the file, in order; its words are looked for first."""
    from mash_plugin.tokens import words

    parts = sorted(set(words(file)), key=len, reverse=True)  # the longest is the rarest
    for placed in window.holding(parts):
        revision = revision_of(window.heads[placed[1].id])
        if revision is not None and _names(revision, file):
            yield placed


def _names(revision: Revision, file: str) -> bool:
    quotes = (e.quote for e in revision.evidence if e.added_by == "revision")
    return any(mentions_path(text, file) for text in (*revision.body.texts, *quotes))


def _revision(call: Call, db: Connection, windows: Sequence[Window], head: Head) -> Revision | None:
    window = next(w for w in windows if head.id in w.heads)
    revision = window.revisions.get(head.id) or load_head(db, head)
    if revision is None:
        call.on_damaged(head.id)
    else:
        window.revisions[head.id] = revision
    return revision
