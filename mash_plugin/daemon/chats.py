"""The chat tools: their requests to pages of the chat index, as JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

from mash_plugin.chats import reading, search
from mash_plugin.chats.reading import Chat, StoredMessage
from mash_plugin.errors import ChatNotFound, MessageNotFound
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied, refuse_source
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.budget import PAGE_BYTES, page, size_of
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
FREE_TEXTS = frozenset({"text", "title"})
"""Masked before they are cut: half a credential is not recognised."""
TEXT_CHARS, TEXT_BYTES = 8_000, 24_100
"""A longer message is cut in a page, and says so."""
TITLE_BYTES = PLACE_BYTES = 1_024


def list_chats(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of chats, the newest first."""
    scope = _scope(request)
    limit, offset = request["limit"], request["offset"]
    denied = _denied(call, scope)
    with call.chats.database.reading() as db:
        if scope and scope.kind == "chat":
            found = reading.chat_of(db, scope.value)
            found_chats, has_more = ([found] if found and not offset else []), False
        else:
            found_chats, has_more = reading.list_chats(
                db,
                limit,
                offset,
                repository=value_of(scope, "repository"),
                project_path=value_of(scope, "local_project"),
            )
    shown = masking(call.settings)
    items = (None if denied.has_chat(c) else chat_json(c, shown) for c in found_chats)
    return _page("chats", items, offset, has_more)


def get_chat(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of one chat's messages. Raises ChatNotFound or MessageNotFound."""
    offset, shown = request["offset"], masking(call.settings)
    with call.chats.database.reading() as db:
        chat = reading.chat_of(db, request["id"])
        if chat is None:
            raise ChatNotFound(f"No chat {request['id']!r} in the index; see list_chats.")
        refuse_source(call, chat)
        if request.get("message_id"):
            message = reading.message_by_id(db, request["message_id"], chat.id)
            if message is None or message.chat_id != chat.id:
                raise MessageNotFound(
                    f"The chat {chat.id} has no message {request['message_id']!r}."
                )
            offset = message.ordinal
        ordinals: list[int] = []

        def items() -> Iterator[dict[str, Any]]:
            for message in reading.messages_from(db, chat.id, offset):
                ordinals.append(message.ordinal)
                yield message_json(message, shown)

        envelope = {"chat": chat_json(chat, shown), "messages": [], **_following(offset)}
        chosen, is_all = page(items(), request["limit"], PAGE_BYTES, envelope)
    following = None if is_all else ordinals[len(chosen) - 1] + 1
    return {"chat": envelope["chat"], "messages": chosen, **_following(following)}


def search_chats(call: Call, request: dict[str, Any]) -> dict[str, Any]:
    """A page of messages that hold the words, best first."""
    scope = _scope(request)
    limit, offset = request["limit"], request["offset"]
    denied, shown = _denied(call, scope), masking(call.settings)
    with call.chats.database.reading() as db:
        hits, has_more = search.search_chats(
            db,
            request["query"],
            limit,
            offset,
            repository=value_of(scope, "repository"),
            project_path=value_of(scope, "local_project"),
            chat_id=value_of(scope, "chat"),
            shown=lambda text: shown(text),
        )
    items = (
        None if denied.has_chat_id(hit.chat_id) else _item(hit._asdict(), shown) for hit in hits
    )
    return _page("hits", items, offset, has_more)


def chat_json(chat: Chat, shown: Masking) -> dict[str, Any]:
    """A chat as lists show it."""
    return _item({name: getattr(chat, name) for name in CHAT_FIELDS}, shown)


def message_json(message: StoredMessage, shown: Masking) -> dict[str, Any]:
    """A message as pages show it: a very long one is cut, and says so."""
    item = _item({name: getattr(message, name) for name in MESSAGE_FIELDS}, shown)
    text = _within(item["text"][:TEXT_CHARS], TEXT_BYTES, "")
    if len(text) < len(item["text"]):
        item["text"] = text + " … (cut)"
    return item


def _denied(call: Call, scope: Scope | None) -> Denied:
    """What to leave out of a list. Raises RecordsDisabled where that is all of it."""
    denied = Denied(call, "index")
    if scope is not None:
        Denied(call).refuse_scope(scope)
        denied.refuse_scope(scope)
    return denied


def _page(
    name: str, items: Iterable[dict[str, Any] | None], offset: int, has_more: bool
) -> dict[str, Any]:
    """As many of the items as fit into a page, and where the next one begins (R-098).

    None stands for what is left out: offsets count it all the same.
    """
    found = list(items)
    kept = [number for number, item in enumerate(found) if item is not None]
    whole = [item for item in found if item is not None]
    envelope = {name: [], **_following(offset + len(found))}
    chosen, is_all = page(whole, len(found), PAGE_BYTES, envelope)
    following = offset + len(found) if has_more else None
    if not is_all:
        following = offset + kept[len(chosen)]
    return {name: chosen, **_following(following)}


def _following(offset: int | None) -> dict[str, Any]:
    """Say in words that a next page exists."""
    return {"next_offset": offset} | ({} if offset is None else {"more": True})


def _item(values: dict[str, Any], shown: Masking) -> dict[str, Any]:
    """What is set, its free texts with known credentials masked (R-177), nothing over-long."""
    item = {n: shown(v) if n in FREE_TEXTS else v for n, v in values.items() if v is not None}
    if title := item.get("title"):
        item["title"] = _within(title, TITLE_BYTES, " …")
    for name in ("project_path", "repository_identity"):
        if size_of(item.get(name)) > PLACE_BYTES:
            item[name] = "…" + _within(item[name][::-1], PLACE_BYTES, "")[::-1]
    return item


def _within(text: str, most: int, mark: str) -> str:
    """The text, cut where its JSON would have more bytes, and then marked."""
    whole, size = text, size_of(text)
    while size > most:
        text = text[: len(text) * most // size]
        size = size_of(text)
    return text if text == whole else text + mark


def _scope(request: dict[str, Any]) -> Scope | None:
    """The scope to look in; a personal one holds no chats of its own, so it means all."""
    return scope_of(request["scope"]) if request.get("scope") else None


def value_of(scope: Scope | None, kind: str) -> str | None:
    """The value of a scope of that kind; None for any other."""
    return scope.value if scope and scope.kind == kind else None
