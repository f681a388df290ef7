"""What a person asks of running sessions: which there are, what they cost, one line about them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mash_plugin.chats.project import project_of
from mash_plugin.chats.switches import what_is_off
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.frames import some_text
from mash_plugin.daemon.hook_parts import pause_targets
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

Json = dict[str, Any]


def ledger(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """What each hook put into the context of one session, in bytes."""
    node, now = requests.open_node(), now_ms()
    session = session_named(node, some_text(params, "session") or NEWEST, now)
    injected = node.hook_state.ledger.of(session["session_id"])
    until = node.hook_state.pauses.until(pause_targets(None, session["session_id"]), now)
    return {
        "session": {**session, "paused_until": told_until(until)},
        "injected": [{"hook": hook, **told._asdict()} for hook, told in injected.items()],
        "total": {
            "times": sum(told.times for told in injected.values()),
            "bytes": sum(told.bytes for told in injected.values()),
        },
    }


def status_line(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """The few facts that a status line of the agent shows of this project and session."""
    node, now = requests.open_node(), now_ms()
    settings, project = node.settings({}), project_of(some_text(params, "cwd") or "")
    targets = pause_targets(project, some_text(params, "session"))
    until = node.hook_state.pauses.until(targets, now)
    records, saved_at, imported = _saved(node, project.scopes if project else [])
    return {
        "project": project.name if project else None,
        "records": records,
        "saved_at": saved_at,
        "imported": imported,
        "is_paused": until is not None,
        "paused_until": told_until(until),
        "off": [off.what for off in what_is_off(project, settings)],
        "switches": {
            "records": settings.records_enabled,
            "capture": settings.capture,
            "recall": settings.recall,
        },
        "problem": node.store.problem.as_json() if node.store.problem else None,
        "now": now,
    }


def _saved(node: "Node", scopes: list[Scope]) -> tuple[int, int | None, int]:
    """How many live records a project has, when the last was saved, and how many are imported."""
    with node.store.reading() as db:
        owner = identity_of(db).owner
        found = [count_live(db, owner, scope) for scope in scopes]
        others = other_owners(db, owner)
        imported = sum(count_live(db, other, scope)[0] for other in others for scope in scopes)
    times = [at for _, at in found if at is not None]
    return sum(count for count, _ in found), max(times, default=None), imported


def session_named(node: "Node", name: str, now: int) -> Json:
    """One session by the beginning of its ID, or the newest one. Raises InvalidArgument."""
    found = find(node, None if name == NEWEST else name, None, now)
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


def find(node: "Node", name: str | None, place: str | None, now: int, count: int = 2) -> list[Json]:
    """The newest sessions whose ID begins so or that ran in that project; each with its place."""
    with suppress(MashError):  # what cannot be written now is merely a few seconds old
        node.hook_state.flush(now)
    with node.store.reading() as db:
        return [found._asdict() for found in find_sessions(db, name, place, count)]


def told_until(until: int | None) -> int | None:
    """When a pause ends; None for one that the person must end, and for none."""
    return None if until is None or until >= FOR_EVER else until
