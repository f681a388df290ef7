"""The working buffer: what waits in the queue, what is kept for now, and what was promoted."""

from collections.abc import Mapping
from itertools import groupby, islice
from typing import Any, NamedTuple

from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import render
from mash_plugin.errors import MashError
from mash_plugin.memory.masking import Masking

MOST_ROWS = 200
LOOKED_THROUGH = 2_000
"""Long-term rows that are searched for copies, the newest first."""
HOUR_MS = 3_600_000


class Row(NamedTuple):
    """A memory as it is shown."""

    text: str
    category: str
    significance: float
    stored_at: int
    expires_at: int | None


class Session(NamedTuple):
    """The memories of one channel and session."""

    channel: str
    session: str
    rows: list[Row]


class Buffer(NamedTuple):
    """Everything of one agent's workspace."""

    agent: str
    workspace: str
    ttl_hours: int | None
    """None where nothing expires."""
    waiting: int
    oldest: int | None
    set_aside: int
    sessions: list[Session]
    promoted: list[Row]
    problem: str


def throughline(place: Place, _query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """The buffer that `[throughline]` of the configuration names, if it does."""
    from mash_plugin.throughline.settings import configured_agent

    problem = ""
    buffer = None
    try:
        configured = configured_agent(place.paths.config_file)
        buffer = _buffer(*configured, place.masking()) if configured else None
    except MashError as error:
        problem = error.message
    return render("throughline.html", place, nav="throughline", buffer=buffer, problem=problem)


def _buffer(agent: str, settings: Any, shown: Masking) -> Buffer:  # noqa: ANN401 - imported late
    from mash_plugin.throughline import queue
    from mash_plugin.throughline.store import newest, open_database

    working, promoted, problem = [], [], ""
    try:
        db = open_database(settings, to_write=False)
        try:
            working = list(islice(newest(db, agent, "working"), MOST_ROWS))
            found = islice(newest(db, agent, "long_term"), LOOKED_THROUGH)
            promoted = [row for row in found if row.source_mem_id][:MOST_ROWS]
        finally:
            db.close()
    except MashError as error:
        problem = error.message
    life = settings.ttl_hours * HOUR_MS if settings.promote else None

    def told(row: Any, life: int | None = None) -> Row:  # noqa: ANN401 - imported late
        until = row.stored_at + life if life else None
        return Row(shown(row.text), row.category, row.significance, row.stored_at, until)

    def where(row: Any) -> tuple[str, str]:  # noqa: ANN401 - imported late
        return shown(row.channel or ""), shown(row.session or "")

    return Buffer(
        agent=agent,
        workspace=settings.workspace,
        ttl_hours=settings.ttl_hours if settings.promote else None,
        waiting=len(queue.pending(settings.workspace, agent)),
        oldest=queue.oldest_pending(settings.workspace, agent),
        set_aside=len(queue.list_set_aside(settings.workspace)),
        sessions=[
            Session(*key, [told(row, life) for row in rows])
            for key, rows in groupby(sorted(working, key=where), where)
        ],
        promoted=[told(row) for row in promoted],
        problem=problem,
    )
