"""What the dashboard asks of the daemon itself: has anything changed, and how do hooks do."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.control import index_progress
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import MashError
from mash_plugin.store import browse
from mash_plugin.store.latency import KEPT_DAYS, LIMITS_MS
from mash_plugin.store.records import owner_and_version

DAYS_MS = 60 * 86_400_000
SESSIONS = 12


def view_version(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Two numbers: one changes with every record or link, one with every message read."""
    node = requests.open_node()
    with node.store.reading() as db:
        version = owner_and_version(db)[1]
    with node.chats.database.reading() as db:
        return {"records": version, "messages": browse.newest_message(db)}


def view_health(requests: Requests, params: Mapping[str, Any]) -> dict[str, Any]:
    """What hooks put into sessions by day and by session, how fast they were, and the index."""
    node, now = requests.open_node(), now_ms()
    with suppress(MashError):  # what cannot be written now is merely a few seconds old
        node.hook_state.flush(now)
    with node.store.reading() as db:
        by_day = browse.injected_by_day(db, now - DAYS_MS)
        by_session = browse.injected_by_session(db, SESSIONS)
    return {
        "now": now,
        "started_at": requests.started_at,
        "counts": node.counts(),
        "heartbeats": node.hook_state.heartbeats.all(),
        "injected_by_day": [
            {"day": day, "hook": hook, "times": times, "bytes": size}
            for day, hook, times, size in by_day
        ],
        "injected_by_session": [
            {"session_id": session, "agent": agent, "at": at, "times": times, "bytes": size}
            for session, agent, at, times, size in by_session
        ],
        "latency": {
            "limits_ms": list(LIMITS_MS),
            "days": KEPT_DAYS,
            **node.hook_state.latency.told()._asdict(),
        },
        "index": index_progress(requests, params),
    }
