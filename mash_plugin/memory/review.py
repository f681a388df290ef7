"""What a review of earlier chats works on: which are due, and one of them as text.

Nothing is saved here: what a reviewer finds goes through `extract_records` like any review.
"""

from contextlib import suppress
from typing import Any

from mash_plugin.agents import HOOKED
from mash_plugin.chats.reading import Chat, as_chat, messages_from
from mash_plugin.errors import ChatNotFound, InvalidArgument, RecordsDisabled
from mash_plugin.memory.call import Call
from mash_plugin.memory.extraction import chat_to_review, fingerprint_of
from mash_plugin.memory.scopes import known_chat, real_folder
from mash_plugin.records.model import Scope
from mash_plugin.store.chats import SQL
from mash_plugin.store.checkpoints import failed_reviews, get_checkpoint, note_failed_review
from mash_plugin.store.operations import find_receipt, identity_of, operation_key

MOST_BYTES = 400_000
"""Some 100,000 tokens: what every reviewer can hold at once beside its own instructions."""
Json = dict[str, Any]


def review_plan(call: Call, request: Json) -> Json:
    """Every chat of a window, the newest first, and whether its present version is to be reviewed.

    A chat is read from its transcript first: what was said since the last index counts.
    """
    if not call.settings.records_enabled:
        raise RecordsDisabled
    if chat_id := request.get("chat_id"):
        ids = [known_chat(call.chats, chat_id).id]
    else:
        with call.chats.database.reading() as db:
            rows = db.all(SQL.chats_active_since, {"since": request["since"]})
        ids = [as_chat(row).id for row in rows]
    with call.store.reading() as db:
        failed = failed_reviews(db)
    chats = []
    for chat_id in ids:
        with suppress(ChatNotFound):  # forgotten meanwhile
            chats.append({**_planned(call, chat_id), "has_failed": chat_id in failed})
    return {"chats": chats}


def review_chat(call: Call, request: Json) -> Json:
    """One chat as a reviewer reads it: what the person and the agent said, no output of tools.

    The fingerprint is taken before the messages are read, as every reviewer must.
    """
    if not call.settings.records_enabled:
        raise RecordsDisabled
    scope = review_scope(known_chat(call.chats, request["chat_id"]))
    chat = chat_to_review(call, request["chat_id"], scope)
    with call.chats.database.reading() as db:
        messages = [
            {"id": message.id, "by": message.author, "text": message.text}
            for message in messages_from(db, chat.id)
            if message.role != "tool" and message.text.strip()
        ]
    return {
        "chat_id": chat.id,
        "scope": scope.as_json(),
        "source_fingerprint": fingerprint_of(chat),
        "messages": messages,
    }


def review_result(call: Call, request: Json) -> Json:
    """Whether that review was saved, which is always together with its checkpoint."""
    with call.store.reading() as db:
        identity = identity_of(db)
        found = find_receipt(db, identity, operation_key(identity, request["operation_id"]))
    records = (found.receipt or {}).get("records", []) if found else []
    saved = sum(1 for record in records if not record["reused"])
    return {"is_saved": found is not None, "records_saved": saved}


def review_failed(call: Call, request: Json) -> Json:
    """Remember that a review was not saved: that chat comes last in the next run."""
    if request["agent"] not in HOOKED:
        raise InvalidArgument(
            f"There is no reviewer {request['agent']!r}; known: {', '.join(HOOKED)}."
        )
    chat = known_chat(call.chats, request["chat_id"])
    with call.store.writing() as db:
        note_failed_review(db, chat.id, request["agent"], request["kind"], call.now)
    return {"chat_id": chat.id}


def review_scope(chat: Chat) -> Scope:
    """Where the records of a chat's review hold: its repository, its folder, or itself alone."""
    if chat.repository_identity:
        return Scope("repository", chat.repository_identity)
    if chat.project_path:
        return Scope("local_project", real_folder(chat.project_path))
    return Scope("chat", chat.id)


def _planned(call: Call, chat_id: str) -> Json:
    chat = known_chat(call.chats, chat_id)
    item = {"chat_id": chat.id, "title": chat.title or "", "agent": chat.source, "bytes": 0}
    scope = review_scope(chat)
    try:
        fingerprint = fingerprint_of(chat_to_review(call, chat_id, scope))
    except RecordsDisabled:  # the person left its project out
        return {**item, "state": "left_out"}
    with call.store.reading() as db:
        reviewed = get_checkpoint(db, identity_of(db).owner, chat_id, scope)
    if reviewed and reviewed.source_fingerprint == fingerprint:
        return {**item, "state": "done"}
    with call.chats.database.reading() as db:
        row = db.one(SQL.review_size, {"chat_id": chat_id})
    size = int(row[0]) if row else 0
    state = "empty" if not size else "too_long" if size > MOST_BYTES else "due"
    return {**item, "bytes": size, "state": state}
