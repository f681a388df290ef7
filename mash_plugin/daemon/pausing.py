"""What `mash pause` asks: let hooks be silent for a session or a project, or speak again."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.chats.project import Project, is_within, project_of
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import some_text
from mash_plugin.daemon.hook_parts import pause_targets
from mash_plugin.daemon.sessions import find, session_named, told_until
from mash_plugin.errors import InvalidArgument
from mash_plugin.store.pauses import FOR_EVER
from mash_plugin.wording import NEWEST

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node
    from mash_plugin.daemon.requests import Requests

CANDIDATES = 9
"""Sessions that a person is asked to choose from."""
LOOKED_AT = 256
Json = dict[str, Any]


def pause(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """Pause a session or a project, or end what is paused; tells what is paused then.

    Where no session is named and several may be meant, the answer holds those as `candidates`.
    """
    node, now = requests.open_node(), now_ms()
    project = project_of(some_text(params, "cwd") or "")
    match some_text(params, "what"):
        case "off":
            told = _end(node, project, params, now)
        case "project":
            told = _pause_project(node, project, params, now)
        case _:
            told = _pause_session(node, project, params, now)
    return told if "candidates" in told else {**told, "paused": paused(node, now)}


def paused(node: "Node", now: int) -> list[Json]:
    """Everything that is paused, for status."""
    ends = node.hook_state.pauses.all(now)
    return [{"target": target, "until": told_until(end)} for target, end in ends.items()]


def _end(node: "Node", project: Project | None, params: Mapping[str, Any], now: int) -> Json:
    pauses, session_id = node.hook_state.pauses, some_text(params, "session")
    found = _meant(node, session_id, project, some_text(params, "cwd"), now)
    mine = pause_targets(project, found[0]["session_id"] if found else session_id)
    ended = [target for target in mine if target in pauses.all(now)]
    for target in ended:
        pauses.end(target)
    return {"ended": ended}


def _pause_project(
    node: "Node", project: Project | None, params: Mapping[str, Any], now: int
) -> Json:
    if project is None:
        raise InvalidArgument("This folder is no project; pause a session instead.")
    target, until = f"project:{project.identity or project.place}", _until(params, now)
    node.hook_state.pauses.put(target, None, until, now)
    return {"target": target, "until": told_until(until)}


def _pause_session(
    node: "Node", project: Project | None, params: Mapping[str, Any], now: int
) -> Json:
    name = some_text(params, "session")
    if name is None:
        below = _meant(node, None, project, some_text(params, "cwd"), now)
        if len(below) != 1:
            return {"candidates": (below or find(node, None, None, now, CANDIDATES))[:CANDIDATES]}
        name = below[0]["session_id"]
    session = session_named(node, name, now)
    target, until = f"session:{session['session_id']}", _until(params, now)
    node.hook_state.pauses.put(target, session["session_id"], until, now)
    return {"target": target, "until": told_until(until), "session": session}


def _until(params: Mapping[str, Any], now: int) -> int:
    length = params.get("for_ms")
    return now + length if isinstance(length, int) and length > 0 else FOR_EVER


def _meant(
    node: "Node", session_id: str | None, project: Project | None, cwd: str | None, now: int
) -> list[Json]:
    """The sessions of this name; without one of this project, else below this folder."""
    if session_id == NEWEST:
        return find(node, None, None, now)[:1]
    if session_id:
        return find(node, session_id, project.place if project else None, now)
    if project and (found := find(node, None, project.place, now)):
        return found[:1]
    folder = os.path.realpath(cwd) if cwd else None
    every = find(node, None, None, now, LOOKED_AT) if folder else []
    return [one for one in every if one["project"] and is_within(one["project"], str(folder))]
