"""The compiled memory file of a workspace: long-term memory, and on request the last two days."""

import os

from mash_plugin.file_writing import replace_file
from mash_plugin.privacy.credentials import mask
from mash_plugin.throughline.backend import Database, Row
from mash_plugin.throughline.clock import date_of
from mash_plugin.throughline.queue import told
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import put_rebuild_state, rebuild_state, recent, strongest

FILE = "MEMORY.md"
LEAST_PAUSE_MS = 60_000
"""Auto-refresh rebuilds at most once a minute (R-218)."""
WINDOW_HOURS = 48
RECENT_ROWS, RECENT_BYTES = 12, 2_000
LASTING_ROWS, LASTING_BYTES = 100, 16_000
_HOUR_MS = 3_600_000


def rebuild(db: Database, settings: Settings, agent: str, now: int) -> str:
    """Write the file anew, whole or not at all; where it lies."""
    from pathlib import Path

    place = os.path.join(settings.workspace, FILE)
    text = compiled_text(db, settings, agent, now)
    with told(place, "it was not rebuilt, what was drained is stored"):
        replace_file(Path(place), text.encode("utf-8", "replace"))
    put_rebuild_state(db, agent, now, is_wanted=False)
    return place


def rebuild_if_due(
    db: Database, settings: Settings, agent: str, now: int, *, is_wanted: bool
) -> None:
    """Rebuild at most once a minute; what comes too early is made up for by a later drain."""
    last_at, was_wanted = rebuild_state(db, agent)
    if not (is_wanted or was_wanted):
        return
    # A clock that was put back must not hold the file up for longer than the pause.
    if last_at is None or abs(now - last_at) >= LEAST_PAUSE_MS:
        rebuild(db, settings, agent, now)
    elif not was_wanted:
        put_rebuild_state(db, agent, last_at, is_wanted=True)


def compiled_text(db: Database, settings: Settings, agent: str, now: int) -> str:
    """What the file holds: most significant first, then with the setting what is recent."""
    lasting = strongest(db, agent, LASTING_ROWS)
    sections = [f"# Memory of {agent}", _section("Long-term memory", lasting, LASTING_BYTES)]
    if settings.compile:
        window = WINDOW_HOURS * _HOUR_MS
        rows = recent(db, agent, now - window, now + window, RECENT_ROWS)
        sections.append(_section(f"Recent ({WINDOW_HOURS}h)", rows, RECENT_BYTES))
    return "\n\n".join(sections) + "\n"


def _section(title: str, rows: list[Row], most_bytes: int) -> str:
    lines, left = [f"## {title}", ""], most_bytes
    for _, category, text, event_at, stored_at in rows:
        date = date_of(stored_at if event_at is None else event_at)
        line = f"- {date} [{category}] {' '.join(mask(text).split())}"
        left -= len(line.encode("utf-8", "replace")) + 1
        if left < 0:
            break
        lines.append(line)
    if len(lines) == 2:
        lines.append("Nothing yet.")
    return "\n".join(lines)
