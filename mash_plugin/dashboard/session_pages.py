"""What was shown to sessions: which there were, and moment by moment what one of them saw."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple
from urllib.parse import quote

from mash_plugin.dashboard import filters, group_pages, labels
from mash_plugin.dashboard.chat_pages import message_link
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import number_of, page_links, query_of, render

PAGE = 30
SHOWINGS = 60
MOST_RAW = 200
START_MS = 60_000
"""What is shown so soon after the first hook belongs to the start."""
Json = dict[str, Any]


class Moment(NamedTuple):
    """One time at which a hook spoke."""

    at: int
    title: str
    path: str
    """The file that was read; empty at starts and prompts."""
    prompt: Json | None
    """What the session was at, where that was not said of the moment before."""
    events: list[Json]
    is_reminder: bool
    """Whether the saving note was among it."""


def sessions(place: Place, query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """The sessions that hooks have seen, the newest first."""
    start = number_of(query.get("n")) or 0
    request: Json = {"limit": PAGE, "offset": start}
    request |= {name: query[name] for name in ("project", "record") if query.get(name)}
    found = place.ask("view_sessions", request)
    path, shown = place.at("/sessions"), place.echoed(query)
    kept = {name: shown.get(name, "") for name in ("project", "record")}
    following, projects = found["next_offset"], _projects(found["projects"], kept, path)
    chosen = [choice.label for choice in projects.choices if choice.is_on] if projects else []
    return render(
        "sessions.html",
        place,
        nav="sessions",
        sessions=found["sessions"],
        total=found["total"],
        first=start + 1,
        last=start + len(found["sessions"]),
        record=found.get("record"),
        project=kept["project"],
        project_name=chosen[0] if chosen else labels.short_name(kept["project"]),
        without_record=path + query_of({**kept, "record": None}),
        without_project=path + query_of({**kept, "project": None}),
        projects=projects,
        **page_links(path, kept, {"n": str(following)} if following else None, is_first=not start),
        link=session_link,
    )


def session(place: Place, query: Mapping[str, str], path: Mapping[str, Any]) -> str:
    """What one session was shown, from its start on."""
    start = number_of(query.get("n")) or 0
    found = place.ask(
        "view_session", {"id": path["session_id"], "limit": SHOWINGS, "offset": start}
    )
    one, following = found["session"], found["next_offset"]
    address = place.at(session_link(one["session_id"]))
    return render(
        "session.html",
        place,
        nav="sessions",
        session=one,
        moments=_moments(found["events"], one),
        injected=found["injected"],
        later=address + query_of({"n": str(following)}) if following else None,
        begin=address if start else None,
        here=session_link(one["session_id"]),
        link=message_link,
        group_link=group_pages.link,
    )


def session_link(session_id: str) -> str:
    """The path of a session."""
    return f"/sessions/{quote(session_id, safe='')}"


def _projects(found: list[Json], kept: Mapping[str, str], path: str) -> filters.Facet | None:
    """The filter of projects; None where there is nothing to choose."""
    choices = []
    for one in found:
        name, is_on = one["project"], kept["project"] == one["project"]
        href = path + query_of({**kept, "project": None if is_on else name})
        label = labels.short_name(one.get("identity") or name)
        choices.append(filters.Choice(label, one["sessions"], href, is_on, name))
    choices.sort(key=lambda choice: not choice.is_on)
    some = filters.SCOPES_SHOWN
    return filters.Facet("Project", choices[:some], choices[some:]) if choices else None


def _moments(events: list[Json], one: Json) -> list[Moment]:
    def together(event: Json) -> tuple[int, str, str]:
        return event["at"], event.get("subagent", ""), event.get("path", "")

    moments: list[Moment] = []
    told: str | None = None
    for (at, subagent, path), found in groupby(events, together):
        shown = list(found)
        notes = [event["note"] for event in shown if "note" in event]
        prompt = shown[0].get("prompt")
        is_new = prompt is not None and prompt["message_id"] != told
        told = prompt["message_id"] if prompt else told
        events_here = [event for event in shown if "note" not in event]
        events_here.sort(key=lambda event: "chat_id" in event)
        title = _title(at - one["first_seen_at"], subagent, path, notes)
        here = Moment(at, title, path, prompt if is_new else None, events_here, bool(notes))
        moments.append(here)
    return moments


def _title(age_ms: int, subagent: str, path: str, notes: list[str]) -> str:
    """When in a session this was."""
    if path:
        return f"When its subagent {subagent} read" if subagent else "When it read"
    if subagent:
        return f"At the start of its subagent {subagent}"
    if "prompt" in notes:
        return "With a prompt"
    return "At its start" if age_ms < START_MS else "When it was resumed, cleared or compacted"
