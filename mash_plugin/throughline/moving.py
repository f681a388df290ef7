"""Move an agent's memories out of the workspace's own file, after the change to Postgres."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.store.failpoint import failpoint
from mash_plugin.throughline import marks, stored
from mash_plugin.throughline.backend import Database
from mash_plugin.throughline.compile import rebuild_if_there
from mash_plugin.throughline.one_drain import only_one
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import (
    REMEMBERED,
    count_by_agent,
    is_captured,
    next_key,
    open_database,
    put_row,
    remove,
    sql,
)

BATCH = 100
"""Sessions in one transaction."""
_COLUMNS = (
    *("mem_id", "stage", "category", "significance", "text", "event_at", "stored_at", "sort_at"),
    *("session", "channel", "source_kind", "artifact_key", "status", "source_mem_id", "words"),
)
"""The columns of `whole_rows`, under the names that `insert_memory` takes."""
Whole = dict[str, Any]


class Moved(NamedTuple):
    """What one run did, counted in memories."""

    moved: int = 0
    known: int = 0
    """In Postgres already, or of a session that was captured again there."""

    def __str__(self) -> str:
        return (
            f"consolidate: {self.moved} moved from {marks.STORE_FILE} to Postgres,"
            f" {self.known} already there"
        )


NOTHING = Moved()


def refuse_without_postgres(settings: Settings) -> None:
    """Raise InvalidArgument where the file is the store."""
    if settings.backend == "file":
        raise InvalidArgument(
            "These settings name the file as the store; nothing was moved. Set"
            ' MM_BACKEND=postgres, or write backend = "postgres" into config.toml.'
        )


def move(settings: Settings, agent: str, now: int) -> Moved:
    """Move everything of an agent; cut off in the middle, it is made good by doing it again.

    Each session is committed in Postgres before it leaves the file. Raises what either store
    raises, and InvalidArgument where the file is the store.
    """
    refuse_without_postgres(settings)
    place = os.path.join(settings.workspace, marks.STORE_FILE)
    if not os.path.exists(place):
        return NOTHING
    total, of_file = NOTHING, settings._replace(backend="file")
    with (
        _rest_kept(place),
        closing(open_database(settings, to_write=True)) as there,
        closing(open_database(of_file, to_write=True)) as here,
    ):
        while (done := _move_batch(here, there, settings.workspace, agent)) != NOTHING:
            total = Moved(total.moved + done.moved, total.known + done.known)
        if total.moved:
            rebuild_if_there(there, settings, agent, now)
    return total


def left_in_file(settings: Settings) -> dict[str, int]:
    """How many memories of each agent the workspace's own file holds, where it is no store."""
    place = os.path.join(settings.workspace, marks.STORE_FILE)
    if settings.backend == "file" or not os.path.exists(place):
        return {}
    with closing(open_database(settings._replace(backend="file"), to_write=False)) as db:
        return count_by_agent(db)


@contextmanager
def _rest_kept(place: str) -> Iterator[None]:
    try:
        yield
    except MashError as error:
        said = f"{error.message} What was not moved is still in {place}: run it again."
        raise type(error)(said) from error


def _move_batch(here: Database, there: Database, workspace: str, agent: str) -> Moved:
    """Move some sessions, while no drain of the workspace runs; the next may run in between."""
    with only_one(workspace, "nothing more was moved"):
        wanted = {"agent": agent, "most": BATCH}
        sessions = [session for (session,) in here.all(sql.some_sessions, wanted)]
        found = {session: _rows(here, agent, session) for session in sessions}
        with there.transaction():
            moved = sum(_take_in(there, agent, session, rows) for session, rows in found.items())
            failpoint("before_move_commit")
        failpoint("after_move_commit")
        for session in filter(None, sessions):
            stored.take_back(workspace, agent, session)
        with here.transaction():
            for rows in found.values():
                remove(here, agent, _places(rows))
    return Moved(moved, sum(map(len, found.values())) - moved)


def _take_in(db: Database, agent: str, session: str | None, rows: list[Whole]) -> int:
    """Store what is missing of a session, or its later capture; how many rows."""
    before = _rows(db, agent, session)
    earlier = [row for row in before if _is_captured(row)]
    later = [row for row in rows if _is_captured(row)]
    if _last(later) > _last(earlier):
        remove(db, agent, _places(earlier))
    else:
        later = []
    there = {row["mem_id"] for row in before}
    missing = [row for row in rows if not _is_captured(row) and row["mem_id"] not in there]
    for row in (*later, *missing):
        if session and (row["artifact_key"] or "").startswith(REMEMBERED):
            put_row(db, {**row, "artifact_key": next_key(db, agent, session)})
        else:
            put_row(db, row)
    return len(later) + len(missing)


def _rows(db: Database, agent: str, session: str | None) -> list[Whole]:
    """Every row of a session, or of none; the earliest first."""
    rows = db.all(sql.whole_rows, {"agent": agent, "session": session})
    return [{**dict(zip(_COLUMNS, row, strict=True)), "agent": agent} for row in rows]


def _is_captured(row: Whole) -> bool:
    return is_captured(row["stage"], row["artifact_key"])


def _last(rows: list[Whole]) -> int:
    return max((row["stored_at"] for row in rows), default=-1)


def _places(rows: list[Whole]) -> list[tuple[Any, ...]]:
    return [(row["mem_id"], row["stage"], row["sort_at"], row["words"]) for row in rows]
