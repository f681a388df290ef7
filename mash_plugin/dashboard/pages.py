"""Every page by its address."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from mash_plugin.dashboard import (
    chat_pages,
    group_pages,
    health_page,
    memory_pages,
    session_pages,
    throughline_page,
    timeline_page,
)
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import render
from mash_plugin.errors import MashError

Page = Callable[[Place, Mapping[str, str], Mapping[str, Any]], str]
PAGES: dict[str, Page] = {
    "/": memory_pages.memory,
    "/memory": memory_pages.memory,
    "/memory/{record_id}": memory_pages.record,
    "/chats": chat_pages.chats,
    "/chats/{chat_id}": chat_pages.chat,
    "/sessions": session_pages.sessions,
    "/sessions/{session_id}": session_pages.session,
    "/timeline": timeline_page.timeline,
    "/group": group_pages.group,
    "/group/records": group_pages.shared_records,
    "/group/records/{node_id}/{record_id}": group_pages.shared_record,
    "/throughline": throughline_page.throughline,
    "/health": health_page.health,
}


def failure_page(place: Place, error: MashError) -> str:
    """What failed, and what to do next."""
    return render("failure.html", place, nav="", message=error.message)


def raw_record(place: Place, path: Mapping[str, Any]) -> bytes:
    """The whole answer about a record, as agents get it."""
    return _indented(place.ask("terminal_show", {"id": path["record_id"]}))


def raw_session(place: Place, path: Mapping[str, Any]) -> bytes:
    """The beginning of what a session was shown, as its page gets it."""
    asked = {"id": path["session_id"], "limit": session_pages.MOST_RAW}
    return _indented(place.ask("view_session", asked))


RAW = {"/memory/{record_id}/json": raw_record, "/sessions/{session_id}/json": raw_session}


def _indented(found: Mapping[str, Any]) -> bytes:
    return orjson.dumps(found, option=orjson.OPT_INDENT_2)
