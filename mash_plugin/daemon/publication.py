"""What commands ask about publishing to the group."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import SharedNotConfigured
from mash_plugin.store import publication

SHOWN = 20
Json = dict[str, Any]


def publish_now(requests: Requests, params: Mapping[str, Any]) -> Json:
    """Publish what waits at once; `publication_status` tells when the attempt has ended."""
    if requests.open_node().settings({}).group_dsn_file is None:
        raise SharedNotConfigured("No group is joined: there is nobody to publish to.")
    publishing = requests.start_workers().publishing()
    number = publishing.ask(take_over=params.get("take_over") is True, again=True)
    return {"attempt": number}


def publication_status(requests: Requests, _params: Mapping[str, Any]) -> Json:
    """What waits for the group, what stays here and why, and how the last attempts went."""
    from mash_plugin.group.publication import settings_of

    node = requests.open_node()
    settings = node.settings({})
    with node.store.reading() as db:
        joined = publication.membership(db)
        backlog = publication.backlog(db)
        refused = publication.refused(db, SHOWN)
        node_id = publication.node_id(db)
    is_on = settings.group_dsn_file is not None
    state = requests.start_workers().publishing().state() if is_on else {}
    return {
        "configured": is_on,
        "node_id": node_id,
        "publishes": settings_of(settings),
        **backlog._asdict(),
        "refused": [{"id": record_id, "why": why} for record_id, why in refused],
        "last_published_at": (joined.published_at or None) if joined else None,
        **state,
    }
