"""What was saved and what was shown to which session: for people, nothing is written."""

from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.store.log import Event, list_events, list_shown_to
from mash_plugin.store.records import Head, get_head, load_head, load_revision
from mash_plugin.store.session_rows import CHAT, GROUP, NOTED_AT_START, NOTED_WITH_PROMPT
from mash_plugin.store.sqlite import Connection

Json = dict[str, Any]


def log_events(call: Call, request: Json) -> Json:
    """One page of what happened since a time, the newest first; left-out projects stay out."""
    start, limit = request["offset"], request["limit"]
    since = request.get("since", call.now - request.get("ago_ms", 0))
    with call.store.reading() as db:
        page = _page(call, db, list_events(db, since, start, limit + 1), start, limit)
    return {**page, "now": call.now}


def shown_to(call: Call, db: Connection, session_id: str, start: int, limit: int) -> Json:
    """One page of what a session was shown, the oldest first; left-out projects stay out."""
    return _page(call, db, list_shown_to(db, session_id, start, limit + 1), start, limit)


def _page(call: Call, db: Connection, found: list[Event], start: int, limit: int) -> Json:
    """The events of a page; `found` holds one more where another page follows."""
    told = _Told(call, db)
    events = [told.event(one) for one in found[:limit]]
    return {
        "events": [one for one in events if one is not None],
        "next_offset": start + limit if len(found) > limit else None,
    }


class _Told:
    """Makes events of one answer, and reads each record once."""

    def __init__(self, call: Call, db: Connection) -> None:
        self._call = call
        self._db = db
        self._denied = Denied(call)
        self._shown: Masking = masking(call.settings)
        self._heads: dict[str, Head | None] = {}

    def event(self, one: Event) -> Json | None:
        """The event with what the record says, or None for what must not be shown."""
        told: Json = {"at": one.at, "event": one.event}
        if one.id in (NOTED_AT_START, NOTED_WITH_PROMPT):
            told["note"] = one.id.partition(":")[2]
        elif one.id.startswith(CHAT):
            chat_id = one.id.removeprefix(CHAT)
            if self._denied.has_chat_id(chat_id):
                return None
            told["chat_id"] = chat_id
        elif one.id.startswith(GROUP):
            told["node_id"], _, told["id"] = one.id.removeprefix(GROUP).rpartition("/")
        elif one.id:
            head = self._head(one.id)
            if head is not None and self._denied.has_record(head):
                return None
            told["id"] = one.id
            told |= self._text(one, head)
        told |= {"session_id": one.session_id} if one.session_id else {}
        told |= {"agent": one.agent} if one.agent else {}
        return told | _details(one)

    def _head(self, record_id: str) -> Head | None:
        if record_id not in self._heads:
            self._heads[record_id] = get_head(self._db, record_id)
        return self._heads[record_id]

    def _text(self, one: Event, head: Head | None) -> Json:
        if head is None or head.hidden_at is not None:
            return {}
        if one.event == "saved" and one.revision is not None:
            revision = load_revision(self._db, head, one.revision)
        else:
            revision = load_head(self._db, head)
        if revision is None:
            self._call.on_damaged(head.id)
            return {"kind": head.kind}
        body = revision.body
        told: Json = {
            "revision": revision.revision,
            "kind": body.kind,
            "state": body.state,
            "review": body.review,
            "statement": self._shown(body.statement),
            "recorded_by": self._shown(body.recorded_by),
        }
        if one.event == "shown" and head.recorded_at > one.at:
            told["revised_since"] = True  # which wording was shown is not kept
        return told | ({"decided_by": body.decided_by} if body.decided_by else {})


def _details(one: Event) -> Json:
    match one.event:
        case "saved" | "forgotten":
            return {"origin": one.detail}
        case "confirmed":
            return {"message_id": one.other}
        case "linked":
            return {"relation": one.detail, "target": one.other}
        case "shown":
            told = {"path": one.detail} if one.detail else {}
            return told | ({"subagent": one.other} if one.other else {})
        case _:
            return {}
