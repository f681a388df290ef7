"""A small packet of memory for one exact scope: window, rank, fit. Writes nothing."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mash_plugin.chats.reading import chat_of
from mash_plugin.errors import ChatNotFound
from mash_plugin.memory.call import Call
from mash_plugin.memory.items import item_of, masking, status_of_head
from mash_plugin.memory.scopes import real_folder, scope_of
from mash_plugin.memory.windows import review_window
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
        with call.chats.database.reading() as db:
            if chat_of(db, scope.value) is None:
                raise ChatNotFound(f"No chat {scope.value!r} in the index; see list_chats.")
    return packet


def recall_for_hook(
    call: Call, scopes: Sequence[Scope], file: str | None, limit: int, byte_budget: int
) -> list[Item]:
    """The best records of these scopes together, as one list of items.

    Candidates that read like instructions to an agent stay out: nobody vouched for them.
    """
    packet = _recall(
        call,
        [Scope(s.kind, real_folder(s.value)) if s.kind == "local_project" else s for s in scopes],
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
    now, shown = call.now, masking(call.settings)
    with call.store.reading() as db:
        owner, scopes = identity_of(db).owner, list(dict.fromkeys(scopes))
        read = review_window if include_review else call.windows.get
        found = [read(db, owner, scope, now) for scope in scopes]
        heads = {id: head for window in found for id, head in window.heads.items()}
        candidates = [ranked for window in found for ranked in window.ranked]
        conflicts = frozenset[str]().union(*(window.conflicts for window in found))
        scan_limited = any(window.scan_limited for window in found)
        if file is not None:
            from mash_plugin.tokens import words

            # The longest first: it is the rarest, and most heads are done with at one look.
            parts = sorted(set(words(file)), key=len, reverse=True)
            heads = {h.id: h for h in heads.values() if _mentions(call, db, h, file, parts)}
            candidates = [ranked for ranked in candidates if ranked.id in heads]
        relevant, rest = rank_records(candidates, terms, now)

        def to_item(ranked: Ranked) -> Item | None:
            head = heads[ranked.id]
            revision = load_head(db, head)
            if revision is None:
                call.on_damaged(head.id)
                return None
            if not is_fit(head, revision):
                return None
            status = status_of_head(head, now)
            return item_of(head, revision, status, head.id in conflicts, shown)

        @cache
        def sizes() -> dict[str, int]:
            return text_bytes(db, heads)

        def least_size(ranked: Ranked) -> int:
            scope_value = heads[ranked.id].scope_value
            return EMPTY_ITEM_BYTES + len(ranked.id) + len(scope_value) + sizes()[ranked.id]

        return pack(relevant, rest, to_item, least_size, limit, byte_budget, scan_limited)


def _mentions(call: Call, db: Connection, head: Head, file: str, parts: Sequence[str]) -> bool:
    """Whether the head's texts or quotes hold the path; its words are looked for first."""
    strong, weak = head.strong_tokens, head.weak_tokens
    for part in parts:  # as a piece of any word, which is quicker to tell than a whole one
        if part not in strong and part not in weak:
            return False
    if not {*strong.split(), *weak.split()}.issuperset(parts):
        return False
    revision = load_head(db, head)
    if revision is None:
        call.on_damaged(head.id)
        return False
    quotes = (e.quote for e in revision.evidence if e.added_by == "revision")
    return any(mentions_path(text, file) for text in (*revision.body.texts, *quotes))
