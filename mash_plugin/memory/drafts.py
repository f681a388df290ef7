"""What a request wants to save, with its words found and nothing private in it, and its saving."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mash_plugin.chats.reading import chat_by_session, messages_newest_first
from mash_plugin.errors import ScopeMismatch
from mash_plugin.memory.call import Call
from mash_plugin.memory.cite import resolve_citations
from mash_plugin.memory.denied import refuse_saving
from mash_plugin.memory.private import refuse_private, refuse_repeated
from mash_plugin.memory.scopes import known_chat
from mash_plugin.records.authority import Cited, warnings_of
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.changes import insert_record
from mash_plugin.store.records import Head, find_live
from mash_plugin.store.sqlite import Connection
from mash_plugin.tokens import words

TOOL_CALL_LOOKBACK = 200
Json = dict[str, Any]


class Cites(NamedTuple):
    """The citations of a request as they were found, and the session that makes it."""

    cited: list[Cited]
    session_id: str | None

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What is kept of them."""
        return tuple(c.evidence for c in self.cited)


class Draft(NamedTuple):
    """One body with its citations, before anybody asked whether it may be saved."""

    scope: Scope
    body: Body
    cites: Cites

    @property
    def same(self) -> bytes:
        """The hash by which an identical record is found."""
        return interpretation_hash(self.scope, self.body)

    @property
    def warnings(self) -> list[str]:
        """What the receipt must say about it."""
        warnings = warnings_of(self.cites.cited)
        if self.body.review == "candidate" and reads_like_instruction(self.body):
            warnings.append(
                "This candidate reads like an instruction to an agent: hooks do not show it."
            )
        return warnings

    def revision(self, number: int, now: int) -> Revision:
        """The draft as a revision of that number."""
        return Revision(number, self.body, now, self.cites.evidence, self.cites.session_id)


def prepare(call: Call, scope: Scope, request: Json, field: str = "change") -> Draft:
    """The draft of a request with `body` and `evidence`; `field` is its name in messages.

    Raises RecordsDisabled, PrivateText, CredentialText, or what `resolve_citations` raises.
    """
    recorded_by = request["body"].get("recorded_by") or call.caller.agent or "unknown"
    request = {**request, "body": {**request["body"], "recorded_by": recorded_by}}
    refuse_saving(call, scope, ())
    cites = cite(call, scope, request, field)
    refuse_saving(call, scope, (e.chat_id for e in cites.evidence))
    return Draft(scope, _body_of(request["body"]), cites)


def cite(call: Call, scope: Scope, request: Json, field: str = "change") -> Cites:
    """Find the citations of a request, in a chat that the scope covers; raises as `prepare`."""
    refuse_private(call, request, field)
    cited = _resolve(call, scope, request.get("evidence") or [])
    refuse_repeated(call, request, [c.evidence for c in cited])
    return Cites(cited, saving_session(call, request, cited))


def tokens_of(revision: Revision) -> tuple[str, str]:
    """The distinct words of its texts, and of its quotes."""
    strong = "\n".join(revision.body.texts)
    weak = "\n".join(e.quote for e in revision.evidence)
    return " ".join(dict.fromkeys(words(strong))), " ".join(dict.fromkeys(words(weak)))


def _resolve(call: Call, scope: Scope, citations: Sequence[Json]) -> list[Cited]:
    try:
        return resolve_citations(call, scope, citations)
    except ScopeMismatch:
        if scope.kind == "chat":
            known_chat(call.chats, scope.value)
        raise


def _body_of(request: Json) -> Body:
    details = request["details"]
    return Body(
        kind=details["kind"],
        state=details["state"],
        statement=request["statement"],
        recorded_by=request["recorded_by"],
        review=request["review"],
        effective_at=request.get("effective_at"),
        decided_by=details.get("decided_by"),
        alternatives=tuple(details.get("alternatives", ())),
        consequences=tuple(details.get("consequences", ())),
        conditions=tuple(details.get("conditions", ())),
        reported_by=details.get("reported_by"),
        valid_until=details.get("valid_until"),
    )


def saving_session(call: Call, request: Json, cited: Sequence[Cited]) -> str | None:
    """The session that saves, as far as it can be told.

    The caller's session is a claim: believed where its transcript holds this very tool call,
    where words of it are cited, or where the client names no tool call to look for.
    """
    claimed = call.caller.session_id
    if claimed is None:
        citations = request.get("evidence") or []
        return next((c["session_id"] for c in citations if "session_id" in c), None)
    with call.chats.database.reading() as db:
        chat = chat_by_session(db, claimed)
        if chat is None:
            return None
        if call.caller.tool_use_id is None or any(c.evidence.chat_id == chat.id for c in cited):
            return claimed
        for count, message in enumerate(messages_newest_first(db, chat.id)):
            if call.caller.tool_use_id in message.tool_use_ids:
                return claimed
            if count == TOOL_CALL_LOOKBACK:
                break
    return None


def save_draft(call: Call, db: Connection, owner: str, draft: Draft) -> tuple[str, Head | None]:
    """Insert the draft as a new record; its ID, or that of the live record which says the same."""
    existing = find_live(db, owner, draft.scope, draft.same)
    if existing is not None:
        return existing.id, existing
    return insert_draft(call, db, owner, draft), None


def insert_draft(call: Call, db: Connection, owner: str, draft: Draft) -> str:
    """Insert the draft as a new record, whatever others say; its ID."""
    record_id, first = call.new_id(), draft.revision(1, call.now)
    insert_record(db, record_id, owner, draft.scope, first, draft.same, tokens_of(first))
    return record_id
