"""What `mash size` asks of the daemon: how much the index holds, of which project, and how old."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.chats.retention import keep_since
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.requests import Requests
from mash_plugin.store.chats import SQL

PROJECTS = 10


def size(requests: Requests, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of the index, the projects with the most messages, and what is kept."""
    node = requests.open_node()
    keep_days = node.settings({}).keep_days
    since = keep_since(keep_days, now_ms())
    with node.chats.database.reading() as db:
        oldest, ended = db.all(SQL.chat_ages, {"since": since})[0]
        rows = db.all(SQL.largest_projects, {"limit": PROJECTS})
    return {
        "counts": node.counts(),
        "keep_days": keep_days,
        "oldest_chat_at": oldest,
        "chats_to_drop": ended if since else 0,
        "projects": [
            {"project": name, "chats": chats, "messages": messages}
            for name, chats, messages in rows
        ],
    }
