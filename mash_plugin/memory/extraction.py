"""Save what the review of one chat found, with the claim that it was reviewed (R-112 to R-122)."""

from collections.abc import Iterable
from typing import Any

from mash_plugin.chats.reading import Chat
from mash_plugin.errors import (
    MashError,
    RecordsDisabled,
    ScopeMismatch,
    SourceChanged,
)
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied, refuse_saving, refuse_source
from mash_plugin.memory.drafts import Draft, prepare, save_draft
from mash_plugin.memory.operation import Operation
from mash_plugin.memory.private import refuse_private, refuse_repeated
from mash_plugin.memory.scopes import chat_in_scope, known_chat, scope_of
from mash_plugin.records.authority import check_authority
from mash_plugin.records.model import Scope
from mash_plugin.records.transitions import check_created_state
from mash_plugin.store.chats import SQL
from mash_plugin.store.checkpoints import Checkpoint, get_checkpoint, save_checkpoint
from mash_plugin.store.forgotten import refuse_forgotten
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import find_live
from mash_plugin.store.sqlite import Connection

CLAIM = (
    "A checkpoint only says that an agent claims to have reviewed that version of the chat: not"
    " that it found everything, nor that any record is right."
)
EMPTY_CHAT = "empty"
"""The fingerprint of a chat without messages, which has no chain yet."""
Json = dict[str, Any]


def get_extraction_checkpoint(call: Call, request: Json) -> Json:
    """The chat's fingerprint as it stands now, beside the one that was reviewed for this scope."""
    scope = scope_of(request["scope"])
    fingerprint = fingerprint_of(chat_to_review(call, request["chat_id"], scope))
    with call.store.reading() as db:
        reviewed = get_checkpoint(db, identity_of(db).owner, request["chat_id"], scope)
    return {
        "chat_id": request["chat_id"],
        "scope": scope.as_json(),
        "source_fingerprint": fingerprint,
        "processed_fingerprint": reviewed.source_fingerprint if reviewed else None,
        "up_to_date": reviewed is not None and reviewed.source_fingerprint == fingerprint,
        "processed_at": reviewed.processed_at if reviewed else None,
        "note": CLAIM,
    }


def extract_records(call: Call, request: Json) -> Json:
    """Save the drafts of a checked request as candidates together with the checkpoint, or nothing.

    A retry is recognised before anything else is looked at. The chat must have the reviewed
    fingerprint when the transaction ends, which another reading of its transcript may change.
    """
    with call.store.reading() as db:
        operation = Operation(identity_of(db), "extract_records", request)
        if replay := operation.replay(db):
            return replay
    if not call.settings.records_enabled:
        raise RecordsDisabled
    scope = scope_of(request["scope"])
    named = {"scope": request["scope"]}
    refuse_private(call, named, "arguments")
    refuse_repeated(call, named, ())
    chat = chat_to_review(call, request["chat_id"], scope)
    _refuse_changed(chat, request)
    drafts = _prepared(call, chat, scope, request["records"])

    def save(db: Connection) -> tuple[Json, list[str]]:
        refuse_forgotten(db, [chat.id])
        _refuse_changed(known_chat(call.chats, chat.id), request)
        saved = [_save(call, db, operation.owner, draft) for draft in drafts]
        reviewed = Checkpoint(request["source_fingerprint"], call.now)
        save_checkpoint(db, operation.owner, chat.id, scope, reviewed, len(drafts))
        receipt = {
            "chat_id": chat.id,
            "source_fingerprint": request["source_fingerprint"],
            "records": saved,
            "recorded_at": call.now,
        }
        return receipt, [one["id"] for one in saved]

    return operation.once(call.store, save)


def chat_to_review(call: Call, chat_id: str, scope: Scope) -> Chat:
    """The chat with what its transcript holds by now; raises where it may not be reviewed so."""
    Denied(call).refuse_scope(scope)
    chat = known_chat(call.chats, chat_id)
    refuse_source(call, chat)
    refuse_saving(call, scope, [chat.id])
    chat_in_scope(scope, [chat])
    for agent, path in _transcripts(call, chat):
        call.chats.refresh_path(agent, path, call.now)
    return known_chat(call.chats, chat_id)


def _transcripts(call: Call, chat: Chat) -> list[tuple[str, str]]:
    """The files that a chat was read from."""
    with call.chats.database.reading() as db:
        rows = db.all(SQL.paths_of_session, {"session_id": chat.session_id})
    return [(agent, path) for agent, path, _is_subagent in rows]


def fingerprint_of(chat: Chat) -> str:
    """Which version of a chat this is."""
    return chat.fingerprint or EMPTY_CHAT


def _refuse_changed(chat: Chat, request: Json) -> None:
    current = fingerprint_of(chat)
    if current != request["source_fingerprint"]:
        raise SourceChanged(
            f"Chat {chat.id} is not as it was under the fingerprint that you give. Take the new"
            " one, read the chat again, and send a new operation ID.",
            source_fingerprint=current,
        )


def _prepared(call: Call, chat: Chat, scope: Scope, requests: Iterable[Json]) -> list[Draft]:
    """Every draft with its words found in the reviewed chat; an error says which one it is."""
    drafts = []
    for number, request in enumerate(requests):
        field = f"records[{number}]"
        try:
            drafts.append(_prepare(call, chat, scope, request, field))
        except MashError as error:
            if not error.message.startswith(field):
                error.args = (f"{field}: {error.message}",)
            error.details["draft"] = number
            raise
    return drafts


def _prepare(call: Call, chat: Chat, scope: Scope, request: Json, field: str) -> Draft:
    for index, citation in enumerate(request["evidence"]):
        if citation.get("session_id", chat.session_id) != chat.session_id:
            raise ScopeMismatch(
                f"evidence[{index}].session_id is not that of the reviewed chat {chat.id}. Cite"
                " messages of that chat alone.",
                citation=index,
            )
    draft = prepare(call, Scope("chat", chat.id), request, field)
    check_created_state(draft.body)
    check_authority(draft.body, draft.cites.cited)
    # Words of the reviewed session are cited; that does not make it the one that saves.
    saved_by = draft.cites.session_id if call.caller.session_id else None
    return draft._replace(scope=scope, cites=draft.cites._replace(session_id=saved_by))


def _save(call: Call, db: Connection, owner: str, draft: Draft) -> Json:
    """Insert a draft, unless a live record says it: then reading a chat again adds no copy."""
    known = find_live(db, owner, draft.scope, _established(draft).same)
    if known is None:
        record_id, known = save_draft(call, db, owner, draft)
    saved = {
        "id": known.id if known else record_id,
        "revision": known.revision if known else 1,
        "reused": known is not None,
    }
    return saved | ({"warnings": draft.warnings} if draft.warnings else {})


def _established(draft: Draft) -> Draft:
    """The same, as it reads once the person's words have settled it."""
    return draft._replace(body=draft.body._replace(review="established"))
