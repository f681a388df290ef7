"""The compiled memory file of a workspace: long-term memory, and on request the last two days."""

import os
import re
import stat
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument
from mash_plugin.file_writing import replace_file
from mash_plugin.privacy.credentials import mask
from mash_plugin.render.text import clean
from mash_plugin.throughline.artifacts import NOT_REPRESENTED, SUMMARY, memory_id
from mash_plugin.throughline.backend import Database, Row
from mash_plugin.throughline.clock import date_of
from mash_plugin.throughline.queue import told
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import put_rebuild_state, rebuild_state, recent, strongest

FILE = "MEMORY.md"
MARK = "Written whole by meaning-memory, again and again; keep notes of your own elsewhere."
LEAST_PAUSE_MS = 60_000
"""Auto-refresh rebuilds at most once a minute (R-218)."""
WINDOW_HOURS = 48
RECENT_ROWS, RECENT_BYTES, RECENT_LOOKED_AT = 12, 2_000, 200
LASTING_ROWS, LASTING_BYTES = 100, 16_000
_HOUR_MS = 3_600_000


class Rebuilt(NamedTuple):
    """Where the compiled file was written, and what is worth saying about it."""

    place: str
    note: str = ""


def rebuild(db: Database, settings: Settings, agent: str, now: int) -> Rebuilt:
    """Write the file anew, whole or not at all. Raises InvalidArgument where it has no place."""
    from pathlib import Path

    place = compiled_place(settings.workspace, agent)
    is_beside, is_new = os.path.basename(place) != FILE, not os.path.lexists(place)
    text = compiled_text(db, settings, agent, now)
    with told(place, "it was not rebuilt, what was drained is stored"):
        replace_file(Path(place), text.encode("utf-8", "replace"))
    put_rebuild_state(db, agent, now, is_wanted=False)
    note = f"{not_ours(settings.workspace)}: the memory of {agent} is in {place}."
    return Rebuilt(place, note if is_beside and is_new else "")


def rebuild_if_there(db: Database, settings: Settings, agent: str, now: int) -> None:
    """Write the file of an agent anew where there is one."""
    places = [os.path.join(settings.workspace, name) for name in (FILE, name_beside(agent))]
    if any(os.path.lexists(place) and _may_write(place, agent) for place in places):
        rebuild(db, settings, agent, now)


def compiled_place(workspace: str, agent: str) -> str:
    """Where the file of an agent lies: MEMORY.md, unless a person or another agent has that.

    Raises InvalidArgument where the place beside it is not ours either.
    """
    first = os.path.join(workspace, FILE)
    second = os.path.join(workspace, name_beside(agent))
    if _may_write(second, agent) and (os.path.lexists(second) or not _may_write(first, agent)):
        return second
    if _may_write(first, agent):
        return first
    raise InvalidArgument(
        f"{first} and {second} were not written for {agent}; the memory file was not rebuilt, what"
        " was drained is stored. Move one of them away."
    )


def not_ours(workspace: str) -> str:
    """What to say of a MEMORY.md that is left as it is."""
    return f"{os.path.join(workspace, FILE)} was not written for this agent and stays as it is"


def name_beside(agent: str) -> str:
    """The name of an agent's own file: readable, and never that of another agent."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,60}", agent):
        return f"MEMORY-{agent}.md"
    readable = re.sub(r"[^a-z0-9]+", "-", agent.lower()).strip("-")[:40]
    return f"MEMORY-{readable}.{memory_id('compiled', agent)[:8]}.md"


def _may_write(place: str, agent: str) -> bool:
    """Whether nothing is there, or what an earlier rebuild wrote for this agent."""
    wanted = _head(agent).encode("utf-8", "replace")
    try:
        # A named pipe would keep whoever opens it waiting.
        handle = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return not os.path.islink(place)
    except OSError:
        return False
    try:
        is_file = stat.S_ISREG(os.fstat(handle).st_mode)
        return is_file and os.read(handle, len(wanted)) == wanted
    finally:
        os.close(handle)


def _head(agent: str) -> str:
    """How every compiled file begins; by this it is known again."""
    return f"# Memory of {agent}\n\n<!-- {MARK} -->\n"


def rebuild_if_due(
    db: Database, settings: Settings, agent: str, now: int, *, is_wanted: bool
) -> Rebuilt | None:
    """Rebuild at most once a minute; what comes too early is made up for by a later drain."""
    last_at, was_wanted = rebuild_state(db, agent)
    if not (is_wanted or was_wanted):
        return None
    # A clock that was put back must not hold the file up for longer than the pause.
    if last_at is None or abs(now - last_at) >= LEAST_PAUSE_MS:
        return rebuild(db, settings, agent, now)
    if not was_wanted:
        put_rebuild_state(db, agent, last_at, is_wanted=True)
    return None


def compiled_text(db: Database, settings: Settings, agent: str, now: int) -> str:
    """What the file holds: most significant first, then with the setting what is recent."""
    lasting = strongest(db, agent, LASTING_ROWS)
    sections = [_head(agent).rstrip(), _section("Long-term memory", lasting, LASTING_BYTES)]
    if settings.compile:
        window = WINDOW_HOURS * _HOUR_MS
        rows = _telling(recent(db, agent, now - window, now + window, RECENT_LOOKED_AT))
        sections.append(_section(f"Recent ({WINDOW_HOURS}h)", rows, RECENT_BYTES))
    return "\n\n".join(sections) + "\n"


def _telling(rows: list[Row]) -> list[Row]:
    """The newest rows; of a session that said something the bare summary is left out."""
    told = {session for _, category, *_, session in rows if category != SUMMARY}
    kept = [row for row in rows if row[1] != SUMMARY or row[-1] not in told]
    return kept[:RECENT_ROWS]


def _section(title: str, rows: list[Row], most_bytes: int) -> str:
    lines, left = [f"## {title}", ""], most_bytes
    for _, category, text, event_at, stored_at, *_ in rows:
        date = date_of(stored_at if event_at is None else event_at)
        told = mask(clean(text)).removesuffix(NOT_REPRESENTED).rstrip()
        line = f"- {date} [{clean(category)}] {told}"
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0:
            break
        lines.append(line)
    if len(lines) == 2:
        lines.append("Nothing yet.")
    return "\n".join(lines)
