"""The group: who is in it, what they published, and how publication from here goes."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mash_plugin.dashboard.memory_pages import steps_of
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import number_of, page_links, query_of, render

PAGE = 50
REVISIONS = 20
FILTERS = ("node", "kind", "all")
KINDS = (None, "decision", "preference", "fact")
Json = dict[str, Any]


def group(place: Place, _query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """The members with their nodes, the outbox, and the copies for recall."""
    return render("group.html", place, nav="group", told=place.ask("view_group", {}))


def shared_records(place: Place, query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """A page of one node's records, or of the next node's; the server's word alone."""
    request: Json = {"shared": True, "limit": PAGE, "include_inactive": bool(query.get("all"))}
    asked = {"node_id": query.get("node"), "kind": query.get("kind"), "cursor": query.get("cursor")}
    found = place.ask("list_records", request | {k: v for k, v in asked.items() if v})
    shown = place.echoed(query)
    path, kept = place.at("/group/records"), {name: shown.get(name) for name in FILTERS}
    following, is_first = found["next_cursor"], not query.get("cursor")
    return render(
        "group_records.html",
        place,
        nav="group",
        records=found["records"],
        node=shown.get("node"),
        kinds=[(kind, path + query_of(kept | {"kind": kind})) for kind in KINDS],
        kind=query.get("kind"),
        is_all=bool(query.get("all")),
        everything=path + query_of(kept | {"all": None if query.get("all") else "1"}),
        **page_links(path, kept, {"cursor": following} if following else None, is_first=is_first),
        link=link,
    )


def shared_record(place: Place, query: Mapping[str, str], path: Mapping[str, Any]) -> str:
    """The copy that a node published, with its history and links."""
    request: Json = {
        "id": path["record_id"],
        "node_id": path["node_id"],
        "history": True,
        "limit": REVISIONS,
    }
    before = number_of(query.get("before"))
    found = place.ask("get_record", request | ({"before_revision": before} if before else {}))
    here = link(path["node_id"], path["record_id"])
    older = found["next_before_revision"]
    return render(
        "group_record.html",
        place,
        nav="group",
        record=found["record"],
        steps=steps_of(found["revisions"]),
        links=found["links"],
        newest=place.at(here) if before else None,
        older=place.at(f"{here}?before={older}") if older else None,
        link=link,
    )


def link(node_id: str, record_id: str) -> str:
    """The path of a shared record."""
    return f"/group/records/{quote(node_id, safe='')}/{quote(record_id, safe='')}"
