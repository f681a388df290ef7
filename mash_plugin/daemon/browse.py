"""Chats as a person looks through them: with their size, and with the records that cite them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mash_plugin.chats import reading
from mash_plugin.chats.reading import Chat
from mash_plugin.daemon.chats import chat_json, message_json, value_of
from mash_plugin.errors import ChatNotFound, MessageNotFound
from mash_plugin.memory.browse import items_by_id
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied, refuse_source
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.budget import page
from mash_plugin.store import browse
from mash_plugin.store.showings import one_session
from mash_plugin.store.sqlite import Connection

WINDOW_BYTES = 56_000
"""Of the messages in one window, so that a page stays light whatever was said."""
BEFORE = 12
"""How many messages stand before the one that is looked for."""
Json = dict[str, Any]


def view_chats(call: Call, request: Json) -> Json:
    """A page of chats, the newest first, with how long each is and how many records cite it."""
    start, limit = request["offset"], request["limit"]
    scope = scope_of(request["scope"]) if "scope" in request else None
    denied, shown = Denied(call, "index"), masking(call.settings)
    with call.chats.database.reading() as db:
        found, has_more = reading.list_chats(
            db,
            limit,
            start,
            repository=value_of(scope, "repository"),
            project_path=value_of(scope, "local_project"),
        )
    kept = [chat for chat in found if not denied.has_chat(chat)]
    with call.store.reading() as db:
        cited = browse.cited_chats(db, [chat.id for chat in kept])
    return {
        "chats": [
            {
                **chat_json(chat, shown),
                "messages": chat.message_count,
                "records": cited.get(chat.id, 0),
            }
            for chat in kept
        ],
        "next_offset": start + limit if has_more else None,
    }


def view_chat(call: Call, request: Json) -> Json:
    """A window of a chat, from a place on or around a message, with the records that cite it.

    Raises ChatNotFound or MessageNotFound.
    """
    with call.chats.database.reading() as db:
        chat = reading.chat_of(db, request["id"])
        if chat is None:
            raise ChatNotFound(f"No chat {request['id']!r} in the index; it may be forgotten.")
        refuse_source(call, chat)
        start = _start(db, chat, request)
        messages, following = _window(call, db, chat, start, request["limit"])
    with call.store.reading() as db:
        pairs = browse.citing(db, chat.id, [message["id"] for message in messages])
        records = items_by_id(call, db, dict.fromkeys(record for _, record in pairs))
        is_hooked = one_session(db, chat.session_id) is not None
    for message in messages:
        mine = (record for cited, record in pairs if cited == message["id"] and record in records)
        message["cited_by"] = list(mine)
    return {
        "chat": {
            **chat_json(chat, masking(call.settings)),
            "messages": chat.message_count,
            "is_hooked": is_hooked,
        },
        "messages": messages,
        "records": list(records.values()),
        "start": start,
        "next": following,
    }


def _start(db: Connection, chat: Chat, request: Json) -> int:
    start: int = request["start"]
    if "message_id" not in request:
        return start
    message = reading.message_by_id(db, request["message_id"], chat.id)
    if message is None:
        raise MessageNotFound(f"The chat {chat.id} has no message {request['message_id']!r}.")
    return max(0, message.ordinal - BEFORE)


def _window(
    call: Call, db: Connection, chat: Chat, start: int, limit: int
) -> tuple[list[Json], int | None]:
    """The messages that fit, and where the next window begins."""
    shown = masking(call.settings)

    def items() -> Iterator[Json]:
        for message in islice(reading.messages_from(db, chat.id, start), limit + 1):
            told = {"number": message.ordinal, "has_private": message.has_private}
            yield {**message_json(message, shown), **told, "is_headless": message.is_headless}

    chosen, is_all = page(items(), limit, WINDOW_BYTES, {})
    return chosen, None if is_all or not chosen else chosen[-1]["number"] + 1
