"""What sessions were shown, as a person looks through it: which there were, and one of them."""

from bisect import bisect_right
from operator import itemgetter
from typing import Any

from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.reading import StoredMessage, chat_of, prompts_newest_first
from mash_plugin.chats.switches import what_is_off
from mash_plugin.daemon.hook_parts import pause_targets
from mash_plugin.daemon.sessions import told_until
from mash_plugin.errors import NotFound
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.heads import intact_revision, item_of_head, visible_head
from mash_plugin.memory.log import shown_to
from mash_plugin.memory.masking import masking
from mash_plugin.store import showings
from mash_plugin.store.ledger import injected_into
from mash_plugin.store.pauses import read_pauses
from mash_plugin.store.showings import SessionCounts
from mash_plugin.store.sqlite import Connection

LOOK_BACK = 400
"""Messages, most of them of tools, among which the last prompt of a listed session is found."""
PROMPTS, LOOK_FAR_BACK = 1_000, 5_000
"""Of one session's chat: what came before is shown without the prompt that it came with."""
PROMPT_CHARS = 300
PLACES = 100
"""Projects to choose from, those with the most sessions."""
WRITTEN_AFTER_MS = 3_000
"""A prompt's hook runs before the prompt stands in the transcript."""
Json = dict[str, Any]


def view_sessions(call: Call, request: Json) -> Json:
    """A page of sessions, the newest first, and how many ran in each project.

    Raises NotFound, Forgotten or RecordsDisabled for a record that cannot be shown.
    """
    start, limit, record = request["offset"], request["limit"], request.get("record")
    with call.store.reading() as db:
        telling = _Telling(call, db)
        told = {"record": telling.record(db, record)} if record else {}
        found = showings.places(db, record)
        places = {place: count for place, count in found if telling.may_name(place)}
        chosen = [place for place in places if request.get("project") in (None, place)]
        rows = showings.list_sessions(db, chosen, record, start, limit + 1)
    return {
        **told,
        "sessions": [one for row in rows[:limit] if (one := telling.session(row)) is not None],
        "total": sum(places[place] for place in chosen),
        "projects": [
            {"project": place, "sessions": places[place], **telling.identity(place)}
            for place in [place for place in places if place][:PLACES]
        ],
        "next_offset": start + limit if len(rows) > limit else None,
    }


def view_session(call: Call, request: Json) -> Json:
    """A page of what one session was shown, from its start on, with the prompts that it was at.

    Raises NotFound for a session that is not known, RecordsDisabled for one that is left out.
    """
    name = request["id"]
    with call.store.reading() as db:
        telling = _Telling(call, db)
        row = showings.one_session(db, name)
        if row is None:
            raise NotFound(f"No hook ran in a session {name!r} in the last 90 days.")
        session = telling.session(row) if telling.may_name(row.project or "") else None
        if session is None:
            raise telling.denied.refusal(f"session {name}")
        page = shown_to(call, db, row.session_id, request["offset"], request["limit"])
        injected = injected_into(db, row.session_id)
    telling.name_chats(page["events"])
    telling.add_prompts(session, page["events"])
    return {
        "session": {**session, "off": _off(call, row)},
        **page,
        "start": request["offset"],
        "injected": [{"hook": hook, **one._asdict()} for hook, one in injected.items()],
    }


class _Telling:
    """Makes one answer, and looks up once what is left out and what is paused."""

    def __init__(self, call: Call, db: Connection) -> None:
        self.denied = Denied(call)
        self._unread = Denied(call, "index")
        self._call = call
        self._shown = masking(call.settings)
        self._pauses = read_pauses(db)
        self._projects: dict[str, Project | None] = {}

    def may_name(self, place: str) -> bool:
        """Whether sessions of this folder, or of none, are shown."""
        return not (place and self.denied.has_scope("local_project", place))

    def identity(self, place: str) -> Json:
        """Of the repository that is there now."""
        project = self._project(place)
        return {"identity": project.identity} if project and project.identity else {}

    def record(self, db: Connection, record_id: str) -> Json:
        """The record whose sessions are looked for."""
        head = visible_head(db, record_id)
        self.denied.refuse_record(head)
        return item_of_head(self._call, db, head, intact_revision(self._call, db, head))

    def session(self, row: SessionCounts) -> Json | None:
        """A session with its last prompt, where its chat may be read; None for one left out."""
        told: Json = row._asdict() | {"pause": self._pause(row), **self.identity(row.project or "")}
        with self._call.chats.database.reading() as db:
            chat = chat_of(db, chat_id(row.agent, row.session_id))
            if chat is not None and self.denied.has_chat(chat):
                return None
            if chat is None or self._unread.has_chat(chat):
                return told
            prompts = prompts_newest_first(db, chat.id, 1, LOOK_BACK)
        told |= {"chat_id": chat.id, "title": self._shown(chat.title or "")}
        return {**told, "prompt": self._prompt(prompts[0])} if prompts else told

    def name_chats(self, events: list[Json]) -> None:
        """Give each chat that was shown its title, where it may be read."""
        titles: dict[str, str] = {}
        with self._call.chats.database.reading() as db:
            for name in {event["chat_id"] for event in events if "chat_id" in event}:
                chat = chat_of(db, name)
                if chat is not None and not self._unread.has_chat(chat):
                    titles[name] = self._shown(chat.title or "")
        for event in events:
            if event.get("chat_id") in titles:
                event["title"] = titles[event["chat_id"]]

    def add_prompts(self, session: Json, events: list[Json]) -> None:
        """Give the events the prompt that the session was at."""
        if "chat_id" not in session or not events:
            return
        with self._call.chats.database.reading() as db:
            found = prompts_newest_first(db, session["chat_id"], PROMPTS, LOOK_FAR_BACK)
        prompts = sorted((p.sent_at, p) for p in found if p.sent_at is not None)
        for event in events:
            with_prompt = event.get("note") == "prompt"
            until = event["at"] + (WRITTEN_AFTER_MS if with_prompt else 0)
            place = bisect_right(prompts, until, key=itemgetter(0))
            if place:
                event["prompt"] = self._prompt(prompts[place - 1][1])

    def _prompt(self, message: StoredMessage) -> Json:
        text = self._shown(message.person_text or message.text)
        brief = text if len(text) <= PROMPT_CHARS else f"{text[:PROMPT_CHARS].rstrip()}…"
        return {"message_id": message.id, "text": brief, "at": message.sent_at}

    def _pause(self, row: SessionCounts) -> Json | None:
        if not self._pauses:
            return None
        targets = pause_targets(self._project(row.project or ""), row.session_id)
        until = max((self._pauses.get(target, 0) for target in targets), default=0)
        if until <= self._call.now:
            return None
        return {"until": told_until(until)}

    def _project(self, place: str) -> Project | None:
        if place not in self._projects:
            self._projects[place] = project_of(place)
        return self._projects[place]


def _off(call: Call, row: SessionCounts) -> list[Json]:
    """What hooks leave out there now, and why."""
    settings = call.settings
    found = what_is_off(project_of(row.project or ""), settings)
    off = [one._asdict() for one in found if one.what != "group"]
    for is_on, what, why in (
        (settings.recall, "recall", "[records] recall is off"),
        (settings.capture, "capture", "[records] capture is off"),
        (settings.file_recall, "recall with files", "[recall] files is off"),
    ):
        off += [] if is_on else [{"what": what, "why": why}]
    return off
