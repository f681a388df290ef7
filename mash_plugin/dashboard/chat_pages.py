"""Chats: the list, what a search finds, and one chat window by window."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mash_plugin.dashboard import filters, labels
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import number_of, page_links, query_of, render

PAGE = 50
HITS = 20
WINDOW = 100
BACK = 60
"""How far the window before begins: it may hold fewer messages than asked."""
Json = dict[str, Any]


def chats(place: Place, query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """The chats, the newest first, or the messages that hold the words."""
    text, scope = filters.text_of(query), query.get("scope", "")
    path = place.at("/chats")
    start = number_of(query.get("n")) or 0
    request: Json = {"offset": start, "limit": HITS if text else PAGE}
    if scope:
        request["scope"] = labels.scope_of_key(scope)
    if text:
        found = place.ask("search_chats", {**request, "query": text})
    else:
        found = place.ask("view_chats", request)
    following = found["next_offset"]
    shown = place.echoed(query)
    kept = {"q": filters.text_of(shown), "scope": shown.get("scope", "")}
    return render(
        "chats.html",
        place,
        nav="chats",
        text=kept["q"],
        scope=kept["scope"],
        scope_name=labels.scope_name(labels.scope_of_key(kept["scope"])) if scope else "",
        all_projects=path + query_of({"q": kept["q"]}),
        chats=found.get("chats", []),
        hits=found.get("hits", []),
        **page_links(path, kept, {"n": str(following)} if following else None, is_first=not start),
        link=message_link,
        scope_key=_scope_key,
    )


def chat(place: Place, query: Mapping[str, str], path: Mapping[str, Any]) -> str:
    """A window of one chat."""
    request: Json = {"id": path["chat_id"], "limit": WINDOW}
    if query.get("m"):
        request["message_id"] = query["m"]
    elif (start := number_of(query.get("n"))) is not None:
        request["start"] = start
    found = place.ask("view_chat", request)
    messages, total, start = found["messages"], found["chat"]["messages"], found["start"]
    address = place.at(f"/chats/{quote(found['chat']['id'], safe='')}")

    def window(begin: int) -> str:
        return address + query_of({"n": str(begin)})

    return render(
        "chat.html",
        place,
        nav="chats",
        chat=found["chat"],
        messages=messages,
        records={one["id"]: one for one in found["records"]},
        first=start + 1,
        last=messages[-1]["number"] + 1 if messages else start,
        total=total,
        asked=query.get("m"),
        begin=address if start else None,
        earlier=window(max(0, start - BACK)) if start else None,
        later=window(found["next"]) if found["next"] is not None else None,
        end=window(max(0, total - BACK)) if found["next"] is not None else None,
        scope_key=_scope_key,
    )


def message_link(chat_id: str, message_id: str) -> str:
    """The path of a message in its chat."""
    asked = query_of({"m": message_id})
    return f"/chats/{quote(chat_id, safe='')}{asked}#m-{quote(message_id, safe='')}"


def _scope_key(chat: Json) -> str | None:
    if chat.get("repository_identity"):
        return f"repository:{chat['repository_identity']}"
    return f"local_project:{chat['project_path']}" if chat.get("project_path") else None
