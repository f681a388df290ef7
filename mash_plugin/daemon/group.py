"""What is asked of the daemon about the group: what waits for it, to send it now, how it does."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import MashError, SharedNotConfigured
from mash_plugin.store import publication

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node

SHOWN = 20
Json = dict[str, Any]


def publish_now(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Publish what waits at once; `publication_status` tells when the attempt has ended."""
    if requests.open_node().settings({}).group_dsn_file is None:
        raise SharedNotConfigured("No group is joined: there is nobody to publish to.")
    publishing = requests.start_workers().publishing()
    number = publishing.ask(take_over=params.get("take_over") is True, again=True)
    return {"attempt": number}


def publication_status(requests: Requests, params: Mapping[str, Any]) -> Json:
    """What waits for the group, what stays here and why, and how the last attempts went.

    With `places` also how many records of each project the settings would publish in all, and
    which folders keep theirs to themselves though they have a remote.
    """
    from mash_plugin.group.publication import settings_of

    node = requests.open_node()
    settings = node.settings({})
    with node.store.reading() as db:
        joined = publication.membership(db)
        backlog = publication.backlog(db)
        refused = publication.refused(db, SHOWN)
        node_id = publication.node_id(db)
    is_on = settings.group_dsn_file is not None
    places = _places(node) if params.get("places") is True else {}
    state = requests.start_workers().publishing().state() if is_on else {}
    return {
        "configured": is_on,
        "node_id": node_id,
        "publishes": settings_of(settings),
        **places,
        **backlog._asdict(),
        "refused": [{"id": record_id, "why": why} for record_id, why in refused],
        "last_published_at": (joined.published_at or None) if joined else None,
        **state,
    }


def view_group(requests: Requests, params: Mapping[str, Any]) -> Json:
    """For the dashboard: the server's word, the outbox and the copies here of the joined group.

    `problem` says why its server tells nothing now.
    """
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


def _places(node: "Node") -> Json:
    from mash_plugin.group.publication import Rules
    from mash_plugin.memory.masking import masking
    from mash_plugin.memory.rebind import left_in_folders
    from mash_plugin.store.rebind import scopes_below

    call = node.own_call()
    with call.store.reading() as db:
        found = Rules(call, db).count_wanted(db)
        counts = scopes_below(db, "")
    left = left_in_folders(counts)
    hide = masking(call.settings)
    return {
        "places": [{"place": hide(p), "records": count} for p, count in found.most_common()],
        "left_in_folders": [{"folder": hide(p), "records": count} for p, count in left.items()],
    }


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
