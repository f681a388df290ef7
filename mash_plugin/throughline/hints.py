"""What may be behind an answer without any memory, for the person at the terminal."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from mash_plugin.throughline import queue
from mash_plugin.throughline.mending import lost_store
from mash_plugin.throughline.moving import left_in_file
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import count_by_agent, open_database
from mash_plugin.throughline.tools import SEARCH, SESSION_RECALL, Place, Reply
from mash_plugin.throughline.waiting import of_others


def hints(name: str, arguments: Mapping[str, Any], reply: Reply, place: Place) -> Iterator[str]:
    """What helps; the answer itself has a fixed form."""
    if name not in (SEARCH, SESSION_RECALL) or reply.data["entries"]:
        return
    if wrong := wrong_name(place.settings, place.agent):
        yield wrong
        return
    if elsewhere := reply.data.get("working_matches"):
        yield (
            f"{elsewhere} match(es) in working memory, where captured sessions are:"
            ' ask with "memory_stage": "working".'
        )
    if len((arguments.get("query") or "").split()) > 1:
        yield "All words of the query must match: ask with fewer, or with none for all memories."
    if waiting := len(queue.pending(place.settings.workspace, place.agent)):
        yield f"{waiting} capture(s) of {place.agent} wait for the next drain, and are found then."
    if lost := lost_store(place.settings):
        yield lost
    if left := left_in_file(place.settings).get(place.agent):
        yield (
            f"{left} memories of {place.agent} are still in memories.db, not in Postgres:"
            f" meaning-memory consolidate --agent-id {place.agent} --file-to-postgres ..."
        )


def wrong_name(settings: Settings, agent: str) -> str:
    """What to say of a workspace that is not there, or of an agent of whom there is nothing."""
    if not os.path.isdir(settings.workspace):
        return f"The workspace {settings.workspace} does not exist. Is the name right?"
    return unknown_agent(settings, agent)


def unknown_agent(settings: Settings, agent: str) -> str:
    """What to say of an agent of whom there is nothing, where there is something of others."""
    with closing(open_database(settings, to_write=False)) as db:
        names = set(count_by_agent(db)) | ({db.agent} if db.agent else set())
    waits = queue.pending(settings.workspace, agent)
    if agent in names or waits or left_in_file(settings).get(agent):
        return ""
    names |= {one.agent for one in of_others(settings.workspace, agent)}
    told = ", ".join(sorted(names))
    return f"There is nothing of {agent} here, but of: {told}. Is the name right?" if told else ""
