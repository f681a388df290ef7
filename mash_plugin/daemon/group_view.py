"""What the dashboard's page of the group shows: the server's word, the outbox, the copies here."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.publication import publication_status
from mash_plugin.errors import MashError

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node
    from mash_plugin.daemon.requests import Requests

Json = dict[str, Any]


def view_group(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """The group that is joined, if one is; `problem` says why its server tells nothing now."""
    node, now = requests.open_node(), now_ms()
    settings = node.settings({})
    told: Json = {
        "now": now,
        "is_joined": settings.group_dsn_file is not None,
        "publish": settings.group_publish,
        "recall": settings.group_recall,
    }
    if not told["is_joined"]:
        return told
    told |= {"server": None, "problem": None}
    try:
        from mash_plugin.group.overview import overview

        told["server"] = requests.kept_group().ask(settings, overview)
    except MashError as error:
        told["problem"] = error.as_json()
    return told | {"outbox": publication_status(requests, params), "copies": _copies(node)}


def _copies(node: "Node") -> Json:
    copies = node.group_copies()
    problem = copies.problem
    return {
        "kept": [
            {"identity": one.identity, "read_at": one.read_at, "records": one.records}
            for one in copies.kept()
        ],
        "problem": problem._asdict() if problem else None,
    }
