"""The sessions that a person may mean without naming one: open, and typed into by somebody."""

import os
from typing import TYPE_CHECKING, Any

from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.project import Project, is_within
from mash_plugin.chats.reading import chat_of, prompts_newest_first
from mash_plugin.daemon.sessions import find
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.masking import masking
from mash_plugin.render.text import shorten

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node

LATELY_MS = 12 * 3_600_000
"""An agent that was killed tells no end: one that was silent for so long is hardly open."""
LOOKED_AT = 256
LOOK_BACK = 500
TITLE_CHARS = 60
Json = dict[str, Any]


def open_sessions(node: "Node", now: int) -> list[Json]:
    """Those that did not end, were heard of lately and are no headless runs; the newest first."""
    return [
        one
        for one in find(node, None, None, now, LOOKED_AT)
        if one["last_activity_at"] >= now - LATELY_MS
        and not node.hook_state.has_ended(one["session_id"])
        and not _is_headless(node, one)
    ]


def is_here(session: Json, project: Project | None, cwd: str | None) -> bool:
    """Whether a session ran in the project of this folder, or below it, or in none like it."""
    place = session["project"]
    if place is None:
        return project is None
    if project is not None and place == project.place:
        return True
    return cwd is not None and is_within(place, os.path.realpath(cwd))


def with_title(node: "Node", session: Json) -> Json:
    """The session with its first words, where its chat has been read and may be shown."""
    call = node.own_call()
    with call.chats.database.reading() as db:
        chat = chat_of(db, chat_id(session["agent"], session["session_id"]))
    if chat is None or not chat.title or Denied(call, "index").has_chat(chat):
        return session
    return {**session, "title": shorten(masking(call.settings)(chat.title), TITLE_CHARS)}


def _is_headless(node: "Node", session: Json) -> bool:
    """Whether its newest prompt came from a script, as far as its transcript has been read."""
    with node.chats.database.reading() as db:
        chat = chat_id(session["agent"], session["session_id"])
        prompts = prompts_newest_first(db, chat, 1, LOOK_BACK)
    return bool(prompts) and prompts[0].is_headless
