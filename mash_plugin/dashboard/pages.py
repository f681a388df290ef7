"""Every page by its address."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from mash_plugin.dashboard import (
    chat_pages,
    group_pages,
    health_page,
    memory_pages,
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


def raw_record(place: Place, record_id: str) -> bytes:
    """The whole answer about a record, as agents get it."""
    found = place.ask("terminal_show", {"id": record_id})
    return orjson.dumps(found, option=orjson.OPT_INDENT_2)
