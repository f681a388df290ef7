"""What `mash pause` asks: let hooks be silent for a session or a project, or speak again."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.chats.project import Project, project_of
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import some_text
from mash_plugin.daemon.hook_parts import pause_targets
from mash_plugin.daemon.open_sessions import is_here, open_sessions, with_title
from mash_plugin.daemon.sessions import find, session_named, told_until
from mash_plugin.errors import InvalidArgument
from mash_plugin.store.pauses import FOR_EVER
from mash_plugin.wording import NEWEST

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node
    from mash_plugin.daemon.requests import Requests

CANDIDATES = 9
"""Sessions that a person is asked to choose from."""
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
    if "candidates" in told:
        return told
    return {**told, "paused": paused(node, now, some_text(params, "cwd"))}


def paused(node: "Node", now: int, cwd: str | None) -> list[Json]:
    """Everything that is paused, for status, and whether `--off` in this folder ends it."""
    here, project = set(_of_folder(node, cwd, now)), project_of(cwd or "")
    here |= set(pause_targets(project, None))
    told = []
    for target, end in node.hook_state.pauses.all(now).items():
        one: Json = {"target": target, "until": told_until(end), "is_here": target in here}
        kind, _, name = target.partition(":")
        if kind == "session" and (found := _exactly(node, name, now)):
            one["session"] = with_title(node, found)
        told.append(one)
    return told


def _end(node: "Node", project: Project | None, params: Mapping[str, Any], now: int) -> Json:
    pauses, name = node.hook_state.pauses, some_text(params, "session")
    sessions = _named(node, name, now) if name else _of_folder(node, some_text(params, "cwd"), now)
    mine = (*sessions, *pause_targets(project, None))
    ended = [target for target in pauses.all(now) if target in mine]
    for target in ended:
        pauses.end(target)
    return {"ended": ended}


def _named(node: "Node", name: str, now: int) -> list[str]:
    """The paused session of this name, or the one of them that was heard of last."""
    paused_ids = [
        target.removeprefix("session:")
        for target in node.hook_state.pauses.all(now)
        if target.startswith("session:" if name == NEWEST else f"session:{name}")
    ]
    if name == NEWEST:
        found = filter(None, (_exactly(node, one, now) for one in paused_ids))
        newest = sorted(found, key=lambda one: -one["last_activity_at"])[:1]
        return [f"session:{one['session_id']}" for one in newest]
    if len(paused_ids) > 1 and name not in paused_ids:
        raise InvalidArgument(f"More than one paused session begins with {name[:100]!r}.")
    return [f"session:{one}" for one in paused_ids if len(paused_ids) == 1 or one == name]


def _of_folder(node: "Node", cwd: str | None, now: int) -> list[str]:
    """The paused sessions that ran in this folder's project, or below the folder."""
    project, targets = project_of(cwd or ""), node.hook_state.pauses.all(now)
    names = [target.partition(":")[2] for target in targets if target.startswith("session:")]
    found = filter(None, (_exactly(node, name, now) for name in names))
    return [f"session:{one['session_id']}" for one in found if is_here(one, project, cwd)]


def _exactly(node: "Node", session_id: str, now: int) -> Json | None:
    found = find(node, session_id, None, now)
    return next((one for one in found if one["session_id"] == session_id), None)


def _pause_project(
    node: "Node", project: Project | None, params: Mapping[str, Any], now: int
) -> Json:
    if project is None:
        raise InvalidArgument("This folder is no project; pause a session instead.")
    target, until = f"project:{project.name}", _until(params, now)
    node.hook_state.pauses.put(target, None, until, now)
    return {"target": target, "until": told_until(until)}


def _pause_session(
    node: "Node", project: Project | None, params: Mapping[str, Any], now: int
) -> Json:
    session = _meant(node, project, params, now)
    if isinstance(session, list):
        return {"candidates": [with_title(node, one) for one in session[:CANDIDATES]]}
    target, until = f"session:{session['session_id']}", _until(params, now)
    node.hook_state.pauses.put(target, session["session_id"], until, now)
    here = is_here(session, project, some_text(params, "cwd"))
    told = {"target": target, "until": told_until(until), "is_here": here}
    return {**told, "session": with_title(node, session)}


def _meant(
    node: "Node", project: Project | None, params: Mapping[str, Any], now: int
) -> Json | list[Json]:
    """The session of this name, else the only open one of this folder; several to choose from."""
    name, cwd = some_text(params, "session"), some_text(params, "cwd")
    if name and name != NEWEST:
        return session_named(node, name, now)
    every = open_sessions(node, now)
    if name == NEWEST:
        return every[0] if every else []
    here = [one for one in every if is_here(one, project, cwd) and one["project"]]
    return here[0] if len(here) == 1 else here or every


def _until(params: Mapping[str, Any], now: int) -> int:
    length = params.get("for_ms")
    return now + length if isinstance(length, int) and length > 0 else FOR_EVER
