"""What a person asks of running sessions: what they cost, one line about them, and a pause."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mash_plugin.chats.project import Project, is_within, project_of
from mash_plugin.chats.switches import what_is_off
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import some_text
from mash_plugin.daemon.hook_parts import pause_targets, project_scopes
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.records.model import Scope
from mash_plugin.store.operations import identity_of
from mash_plugin.store.pauses import FOR_EVER
from mash_plugin.store.records import count_live, other_owners
from mash_plugin.store.session_rows import find_sessions
from mash_plugin.wording import NEWEST

if TYPE_CHECKING:
    from mash_plugin.daemon.node import Node
    from mash_plugin.daemon.requests import Requests

CANDIDATES = 9
"""Sessions that a person is asked to choose from."""
LOOKED_AT = 256
Json = dict[str, Any]


def ledger(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """What each hook put into the context of one session, in bytes."""
    node, now = requests.open_node(), now_ms()
    session = _session(node, some_text(params, "session") or NEWEST, now)
    injected = node.hook_state.ledger.of(session["session_id"])
    until = node.hook_state.pauses.until(pause_targets(None, session["session_id"]), now)
    return {
        "session": {**session, "paused_until": _shown(until)},
        "injected": [{"hook": hook, **told._asdict()} for hook, told in injected.items()],
        "total": {
            "times": sum(told.times for told in injected.values()),
            "bytes": sum(told.bytes for told in injected.values()),
        },
    }


def pause(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """Pause a session or a project, or end what is paused; tells what is paused then."""
    node, now = requests.open_node(), now_ms()
    pauses = node.hook_state.pauses
    project = project_of(some_text(params, "cwd") or "")
    session_id, asked = some_text(params, "session"), some_text(params, "what")
    if asked == "off":
        found = _meant(node, session_id, project, some_text(params, "cwd"), now)
        mine = pause_targets(project, found[0]["session_id"] if found else session_id)
        ended = [target for target in mine if target in pauses.all(now)]
        for target in ended:
            pauses.end(target)
        return {"ended": ended, "paused": paused(node, now)}
    length = params.get("for_ms")
    until = now + length if isinstance(length, int) and length > 0 else FOR_EVER
    if asked == "project":
        if project is None:
            raise InvalidArgument("This folder is no project; pause a session instead.")
        target = f"project:{project.identity or project.place}"
        pauses.put(target, None, until, now)
        return {"target": target, "until": _shown(until), "paused": paused(node, now)}
    if session_id is None:
        below = _meant(node, None, project, some_text(params, "cwd"), now)
        if len(below) != 1:
            return {"candidates": (below or _find(node, None, None, now, CANDIDATES))[:CANDIDATES]}
        session_id = below[0]["session_id"]
    session = _session(node, session_id, now)
    target = f"session:{session['session_id']}"
    pauses.put(target, session["session_id"], until, now)
    told = {"target": target, "until": _shown(until), "session": session}
    return {**told, "paused": paused(node, now)}


def status_line(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """The few facts that a status line of the agent shows of this project and session."""
    node, now = requests.open_node(), now_ms()
    settings, project = node.settings({}), project_of(some_text(params, "cwd") or "")
    targets = pause_targets(project, some_text(params, "session"))
    until = node.hook_state.pauses.until(targets, now)
    records, saved_at, imported = _saved(node, project_scopes(project))
    return {
        "project": project.identity or project.place if project else None,
        "records": records,
        "saved_at": saved_at,
        "imported": imported,
        "is_paused": until is not None,
        "paused_until": _shown(until),
        "off": [off.what for off in what_is_off(project, settings)],
        "switches": {
            "records": settings.records_enabled,
            "capture": settings.capture,
            "recall": settings.recall,
        },
        "problem": node.store.problem.as_json() if node.store.problem else None,
        "now": now,
    }


def paused(node: "Node", now: int) -> list[Json]:
    """Everything that is paused, for status."""
    ends = node.hook_state.pauses.all(now)
    return [{"target": target, "until": _shown(end)} for target, end in ends.items()]


def _saved(node: "Node", scopes: list[Scope]) -> tuple[int, int | None, int]:
    """How many live records a project has, when the last was saved, and how many are imported."""
    with node.store.reading() as db:
        owner = identity_of(db).owner
        found = [count_live(db, owner, scope) for scope in scopes]
        others = other_owners(db, owner)
        imported = sum(count_live(db, other, scope)[0] for other in others for scope in scopes)
    times = [at for _, at in found if at is not None]
    return sum(count for count, _ in found), max(times, default=None), imported


def _meant(
    node: "Node", session_id: str | None, project: Project | None, cwd: str | None, now: int
) -> list[Json]:
    """The sessions of this name; without one of this project, else below this folder."""
    if session_id == NEWEST:
        return _find(node, None, None, now)[:1]
    if session_id:
        return _find(node, session_id, project.place if project else None, now)
    if project and (found := _find(node, None, project.place, now)):
        return found[:1]
    folder = os.path.realpath(cwd) if cwd else None
    every = _find(node, None, None, now, LOOKED_AT) if folder else []
    return [one for one in every if one["project"] and is_within(one["project"], str(folder))]


def _session(node: "Node", name: str, now: int) -> Json:
    """One session by the beginning of its ID, or the newest one. Raises InvalidArgument."""
    found = _find(node, None if name == NEWEST else name, None, now)
    if not found and name == NEWEST:
        raise InvalidArgument(
            "No hook has run in a session yet: start an agent, or see `mash doctor`."
        )
    if not found:
        raise InvalidArgument(
            f"No hook has run in a session {name[:100]!r} yet; `mash log` names those that ran."
        )
    exact = [session for session in found if session["session_id"] == name]
    if name != NEWEST and not exact and len(found) > 1:
        raise InvalidArgument(f"More than one session begins with {name[:100]!r}; give more of it.")
    return (exact or found)[0]


def _find(
    node: "Node", name: str | None, place: str | None, now: int, count: int = 2
) -> list[Json]:
    with suppress(MashError):  # what cannot be written now is merely a few seconds old
        node.hook_state.flush(now)
    with node.store.reading() as db:
        return [found._asdict() for found in find_sessions(db, name, place, count)]


def _shown(until: int | None) -> int | None:
    return None if until is None or until >= FOR_EVER else until
