"""Apply one change: receipt, privacy, evidence, authority, and one transaction (R-044 to R-064)."""

from collections.abc import Iterator, Sequence
from typing import Any

from mash_plugin.chats.private import repeats_private_text
from mash_plugin.chats.reading import chat_by_session, chat_of, messages_newest_first
from mash_plugin.errors import (
    ChatNotFound,
    CredentialText,
    DuplicateRecord,
    Forgotten,
    InvalidArgument,
    OperationConflict,
    PrivateText,
    RecordsDisabled,
    ScopeMismatch,
)
from mash_plugin.memory.call import Call
from mash_plugin.memory.cite import resolve_citations
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.items import status_of_head
from mash_plugin.memory.scopes import scope_of
from mash_plugin.privacy import credential_kind, split_private
from mash_plugin.records.authority import Cited, check_authority, warnings_of
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.lifecycle import check_created_state
from mash_plugin.records.model import Body, Revision, Scope
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.operations import (
    Identity,
    add_receipt,
    find_receipt,
    identity_of,
    operation_key,
    request_key,
)
from mash_plugin.store.records import find_live, insert_record
from mash_plugin.store.sqlite import Connection
from mash_plugin.tokens import words

TOOL_CALL_LOOKBACK = 200
Json = dict[str, Any]


def apply_change(call: Call, request: Json) -> Json:
    """Save the change of a checked request, or answer its retry with the first receipt.

    A retry is recognised before anything else is looked at, and once more inside the
    transaction, so that any number of parallel sends has one effect.
    """
    with call.store.reading() as db:
        operation = _Operation(identity_of(db), request)
        if replay := operation.replay(db):
            return replay
    change = request["change"]
    if not call.settings.records_enabled:
        raise RecordsDisabled
    if change["action"] != "create":
        raise InvalidArgument(
            f"The action {change['action']!r} comes with a later version; this one knows create."
        )
    return _create(call, operation, change)


class _Operation:
    """One operation ID with its request, as the receipts know them."""

    def __init__(self, identity: Identity, request: Json) -> None:
        self.identity = identity
        self.operation_id: str = request["operation_id"]
        self.op_key = operation_key(identity, self.operation_id)
        self.request_key = request_key(identity, "record", request)

    def replay(self, db: Connection) -> Json | None:
        """The first receipt, for a retry; raises OperationConflict or Forgotten."""
        found = find_receipt(db, self.identity, self.op_key)
        if found is None:
            return None
        if found.receipt is None:
            raise Forgotten("What that operation saved was removed; its text is gone.")
        if found.request_key != self.request_key:
            raise OperationConflict
        return self._answer(found.receipt, replayed=True)

    def save(self, db: Connection, receipt: Json) -> Json:
        """Keep the receipt, in the transaction of its change."""
        add_receipt(db, self.identity, self.op_key, self.request_key, receipt, receipt["id"])
        return self._answer(receipt, replayed=False)

    def _answer(self, receipt: Json, replayed: bool) -> Json:
        return {"operation_id": self.operation_id, **receipt, "replayed": replayed}


def _create(call: Call, operation: _Operation, change: Json) -> Json:
    scope, body = scope_of(change["scope"]), _body_of(change["body"], call)
    Denied(call).refuse_scope(scope)
    check_created_state(body)
    _refuse_secrets(change)
    cited = _cite(call, scope, change)
    _refuse_private(call, change, cited)
    check_authority(body, cited)
    revision = Revision(
        1, body, call.now, tuple(c.evidence for c in cited), _saving_session(call, change, cited)
    )
    same = interpretation_hash(scope, body)
    with call.store.writing() as db:
        if replay := operation.replay(db):
            return replay
        existing = find_live(db, operation.identity.owner, scope, same)
        if existing is not None:
            if change["on_duplicate"] != "reuse":
                raise DuplicateRecord(
                    f"Record {existing.id} already says this. Read it; revise it if the meaning"
                    " changed, or create with on_duplicate: reuse to point at it.",
                    id=existing.id,
                    revision=existing.revision,
                    status=status_of_head(existing, call.now),
                )
            receipt = _receipt(call, existing.id, existing.revision, reused=True)
        else:
            receipt = _receipt(call, call.new_id(), 1, reused=False)
            insert_record(
                db,
                receipt["id"],
                operation.identity.owner,
                scope,
                revision,
                same,
                _tokens(revision),
            )
        if warnings := [*warnings_of(cited), *_suspicion(body)]:
            receipt["warnings"] = warnings
        return operation.save(db, receipt)


def _cite(call: Call, scope: Scope, change: Json) -> list[Cited]:
    try:
        return resolve_citations(call, scope, change["evidence"])
    except ScopeMismatch:
        if scope.kind == "chat":
            with call.chats.database.reading() as db:
                if chat_of(db, scope.value) is None:
                    raise ChatNotFound(
                        f"No chat {scope.value!r} in the index; see list_chats."
                    ) from None
        raise


def _receipt(call: Call, record_id: str, revision: int, reused: bool) -> Json:
    return {
        "action": "create",
        "id": record_id,
        "revision": revision,
        "reused": reused,
        "recorded_at": call.now,
    }


def _body_of(request: Json, call: Call) -> Body:
    details = request["details"]
    return Body(
        kind=details["kind"],
        state=details["state"],
        statement=request["statement"],
        recorded_by=request.get("recorded_by") or call.caller.agent or "unknown",
        review=request["review"],
        effective_at=request.get("effective_at"),
        decided_by=details.get("decided_by"),
        alternatives=tuple(details.get("alternatives", ())),
        consequences=tuple(details.get("consequences", ())),
        conditions=tuple(details.get("conditions", ())),
        reported_by=details.get("reported_by"),
        valid_until=details.get("valid_until"),
    )


def _texts(value: object, field: str = "change") -> Iterator[tuple[str, str]]:
    """Every text of a request with the name of its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{field}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{field}[{index}]")


def _refuse_secrets(change: Json) -> None:
    """Private spans and known credentials are refused by field, never repeated (R-176, R-177)."""
    for field, text in _texts(change):
        if split_private(text)[0] != text:
            raise PrivateText(f"{field} holds a private span; private text is never stored.")
        if kind := credential_kind(text):
            raise CredentialText(
                f"{field} holds a credential ({kind}); choose a shorter quote or leave it out.",
                field=field,
            )


def _refuse_private(call: Call, change: Json, cited: Sequence[Cited]) -> None:
    """Nothing may repeat a private span of a cited chat or of the one that saves (R-176)."""
    chats = [c.evidence.chat_id for c in cited]
    if claimed := call.caller.session_id:  # a claim is good enough to refuse by
        own = call.chats.refresh_session(claimed, call.now)
        chats += [own] if own else []
    texts = [text for _, text in _texts(change)] + [c.evidence.quote for c in cited]
    with call.chats.database.reading() as db:
        for chat_id in dict.fromkeys(chats):
            if repeats_private_text(db, texts, call.chats.private_key, chat_id):
                raise PrivateText("A text repeats private text of a cited chat, or of this one.")


def _saving_session(call: Call, change: Json, cited: Sequence[Cited]) -> str | None:
    """The session that saves, as far as it can be told.

    The caller's session is a claim: believed where its transcript holds this very tool call,
    where words of it are cited, or where the client names no tool call to look for.
    """
    claimed = call.caller.session_id
    if claimed is None:
        return next((c["session_id"] for c in change["evidence"] if "session_id" in c), None)
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


def _tokens(revision: Revision) -> tuple[str, str]:
    strong = "\n".join(revision.body.texts)
    weak = "\n".join(e.quote for e in revision.evidence)
    return " ".join(dict.fromkeys(words(strong))), " ".join(dict.fromkeys(words(weak)))


def _suspicion(body: Body) -> list[str]:
    if body.review == "candidate" and reads_like_instruction(body):
        return ["This candidate reads like an instruction to an agent: hooks do not show it."]
    return []
