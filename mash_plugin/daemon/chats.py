"""The chat tools: their requests to pages of the chat index, as JSON."""

from typing import Any

from mash_plugin.chats import reading, search
from mash_plugin.chats.reading import Chat, StoredMessage
from mash_plugin.errors import ChatNotFound, MessageNotFound
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.items import Masking, masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.model import Scope

CHAT_FIELDS = (
    "id",
    "source",
    "session_id",
    "title",
    "project_path",
    "repository_identity",
    "started_at",
    "last_active_at",
    "is_subagent",
)
MESSAGE_FIELDS = ("id", "role", "author", "text", "sent_at")
FREE_TEXTS = frozenset({"text", "snippet", "title"})


def list_chats(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of chats, the newest first."""
    scope = _scope(request)
    limit, offset = request["limit"], request["offset"]
    denied = _denied(call, scope)
    with call.chats.database.reading() as db:
        if scope and scope.kind == "chat":
            found = reading.chat_of(db, scope.value)
            page, has_more = ([found] if found and not offset else []), False
        else:
            page, has_more = reading.list_chats(
                db,
                limit,
                offset,
                repository=_value(scope, "repository"),
                project_path=_value(scope, "local_project"),
            )
    shown = masking(call.settings)
    page = [chat for chat in page if not denied.has_chat(chat)]
    return _page({"chats": [_chat(c, shown) for c in page]}, offset + limit if has_more else None)


def get_chat(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of one chat's messages. Raises ChatNotFound or MessageNotFound."""
    offset = request["offset"]
    with call.chats.database.reading() as db:
        chat = reading.chat_of(db, request["id"])
        if chat is None:
            raise ChatNotFound(f"No chat has the ID {request['id']!r}; see list_chats.")
        Denied(call).refuse_chat(chat)
        if request.get("message_id"):
            message = reading.message_by_id(db, request["message_id"], chat.id)
            if message is None or message.chat_id != chat.id:
                raise MessageNotFound(
                    f"The chat {chat.id} has no message {request['message_id']!r}."
                )
            offset = message.ordinal
        page, has_more = reading.get_chat(db, chat.id, request["limit"], offset)
    shown = masking(call.settings)
    return _page(
        {"chat": _chat(chat, shown), "messages": [_message(m, shown) for m in page]},
        page[-1].ordinal + 1 if has_more else None,
    )


def search_chats(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of messages that hold the words, best first."""
    scope = _scope(request)
    limit, offset = request["limit"], request["offset"]
    denied = _denied(call, scope)
    with call.chats.database.reading() as db:
        hits, has_more = search.search_chats(
            db,
            request["query"],
            limit,
            offset,
            repository=_value(scope, "repository"),
            project_path=_value(scope, "local_project"),
            chat_id=_value(scope, "chat"),
        )
    shown = masking(call.settings)
    hits = [hit for hit in hits if not denied.has_chat_id(hit.chat_id)]
    return _page(
        {"hits": [_masked(h._asdict(), shown) for h in hits]}, offset + limit if has_more else None
    )


def _denied(call: Call, scope: Scope | None) -> Denied:
    """What to leave out of a list. Raises RecordsDisabled where that is all of it."""
    denied = Denied(call)
    if scope is not None:
        denied.refuse_scope(scope)
    return denied


def _page(body: dict[str, Any], next_offset: int | None) -> dict[str, Any]:
    """Say in words that a next page exists (decisions 4.6)."""
    return body | {"next_offset": next_offset} | ({} if next_offset is None else {"more": True})


def _masked(values: dict[str, Any], shown: Masking) -> dict[str, Any]:
    """What is set, its free texts with known credentials masked (R-177)."""
    masked = {n: shown(v) if n in FREE_TEXTS and v is not None else v for n, v in values.items()}
    return {name: value for name, value in masked.items() if value is not None}


def _scope(request: dict[str, Any]) -> Scope | None:
    """The scope to look in; a personal one holds no chats of its own, so it means all."""
    return scope_of(request["scope"]) if request.get("scope") else None


def _value(scope: Scope | None, kind: str) -> str | None:
    return scope.value if scope and scope.kind == kind else None


def _chat(chat: Chat, shown: Masking) -> dict[str, Any]:
    return _masked({name: getattr(chat, name) for name in CHAT_FIELDS}, shown)


def _message(message: StoredMessage, shown: Masking) -> dict[str, Any]:
    values = {name: getattr(message, name) for name in MESSAGE_FIELDS}
    if len(message.text) > reading.TEXT_CHARS_IN_PAGE:
        values["text"] = message.text[: reading.TEXT_CHARS_IN_PAGE] + " … (cut)"
    return _masked(values, shown)
