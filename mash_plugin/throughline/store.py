"""The rows of the working buffer and of long-term memory: what is stored, found and expired.

Every statement is a named query of sql/memories.sql, which each backend runs as it stands;
what a backend is stands in backend.py.
"""

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from mash_plugin.postgres.dsn import missing_driver
from mash_plugin.store.queries import load
from mash_plugin.throughline.artifacts import (
    IMPORTANT,
    Artifact,
    captured_id,
    content_digest,
    memory_id,
)
from mash_plugin.throughline.backend import Database, Row
from mash_plugin.throughline.entries import Entry
from mash_plugin.throughline.matching import listed_words, row_words
from mash_plugin.throughline.settings import Settings

PAGE = 500
REMEMBERED = "remember-"
_NEWER_THAN_ALL = (1 << 62, "g")
"""Stands before every row: no ID has a letter beyond f."""
_COPIED = (
    *("mem_id", "stage", "category", "significance", "text", "event_at", "stored_at", "session"),
    *("channel", "artifact_key", "words", "sort_at", "source_kind", "status"),
)
"""The columns of `important_rows`, under the names that `insert_memory` takes."""
sql: SimpleNamespace = load("memories", os.path.join(os.path.dirname(__file__), "sql"))


class Memory(NamedTuple):
    """One row, as search and recall show it."""

    mem_id: str
    stage: str
    category: str
    significance: float
    text: str
    event_at: int | None
    stored_at: int
    session: str | None
    channel: str | None
    artifact_key: str | None
    words: str
    sort_at: int
    source_mem_id: str | None


def open_database(settings: Settings, *, to_write: bool) -> Database:
    """The store that the settings name."""
    if settings.backend == "file":
        from mash_plugin.throughline.database import open_file

        return open_file(settings.workspace, to_write=to_write)
    try:
        from mash_plugin.throughline.postgres import open_postgres
    except ImportError:
        raise missing_driver() from None
    return open_postgres(settings, to_write=to_write)


def store_capture(db: Database, entry: Entry) -> list[Artifact]:
    """Let the rows of a session be those of this capture; the artifacts that are new or changed."""
    assert entry.session is not None  # noqa: S101 - checked where the entry is read
    rows = db.all(sql.session_rows, {"agent": entry.agent, "session": entry.session})
    before = {row[0]: row for row in rows if is_captured(row[1], row[9])}
    changed = []
    for artifact in entry.artifacts:
        mem_id = captured_id(entry.agent, entry.session, artifact.key)
        row = before.pop(mem_id, None)
        if row is not None and _is_same(row, entry, artifact):
            continue
        if row is not None:
            _remove_shown(db, entry.agent, row)
        _insert(db, entry, artifact, mem_id, artifact.key)
        changed.append(artifact)
    for row in before.values():
        _remove_shown(db, entry.agent, row)
    return changed


def store_remembered(db: Database, entry: Entry) -> list[Artifact]:
    """Store what an agent remembered itself, once for each session, stage and text."""
    changed = []
    for artifact in entry.artifacts:
        mem_id = remembered_id(entry.agent, entry.session, entry.stage, artifact.text)
        if db.one(sql.get_memory, {"agent": entry.agent, "mem_id": mem_id}) is None:
            key = next_key(db, entry.agent, entry.session) if entry.session else None
            _insert(db, entry, artifact, mem_id, key)
            changed.append(artifact)
    return changed


def next_key(db: Database, agent: str, session: str) -> str:
    """The artifact key of what an agent remembers next in a session."""
    rows = db.all(sql.session_rows, {"agent": agent, "session": session})
    ends = [str(row[9]).removeprefix(REMEMBERED) for row in rows if row[9]]
    return f"{REMEMBERED}{max((int(end) for end in ends if end.isdecimal()), default=0) + 1}"


def is_captured(stage: str, artifact_key: str | None) -> bool:
    """Whether a row came from a transcript: such rows of a session are replaced together."""
    return stage == "working" and not (artifact_key or "").startswith(REMEMBERED)


def remembered_id(agent: str, session: str | None, stage: str, text: str) -> str:
    """The ID of a memory that an agent wrote itself (R-205)."""
    return memory_id(agent, session or "", stage, text)


def promoted_id(mem_id: str) -> str:
    """The ID of the long-term copy of a working memory (R-205)."""
    return memory_id("promoted", mem_id)


def session_memories(db: Database, agent: str, session: str) -> list[Memory]:
    """Every row of a session, the newest capture first."""
    rows = db.all(sql.session_rows, {"agent": agent, "session": session})
    return [_of_session(row) for row in rows]


def newest_with(db: Database, agent: str, stage: str, word: str) -> Iterator[Memory]:
    """The rows of a stage that hold a word, the newest first, read page by page."""
    yield from _pages(db, sql.rows_with_word, {"agent": agent, "stage": stage, "word": word})


def newest(db: Database, agent: str, stage: str) -> Iterator[Memory]:
    """The rows of a stage, the newest first, read page by page."""
    yield from _pages(db, sql.newest_rows, {"agent": agent, "stage": stage})


def count_word(db: Database, agent: str, stage: str, word: str, most: int) -> int:
    """How many rows hold a word, counted up to `most`."""
    row = db.one(sql.count_word, {"agent": agent, "stage": stage, "word": word, "most": most})
    return int(row[0]) if row else 0


def copy_important(db: Database, agent: str) -> int:
    """Copy what matters into long-term memory, each row once; how many were copied."""
    copied, wanted = 0, {"agent": agent, "least": IMPORTANT, "most": PAGE}
    while rows := db.all(sql.important_rows, wanted):
        with db.transaction():
            for row in rows:
                _copy(db, agent, row)
        copied += len(rows)
    return copied


def copies(db: Database, agent: str) -> list[Row]:
    """Promoted copies: ID, ID of the original, capture time, whether the original is missing."""
    return db.all(sql.copies, {"agent": agent})


def count_overdue(db: Database, agent: str, before: int) -> int:
    """How many working memories were captured before a time."""
    row = db.one(sql.count_overdue, {"agent": agent, "before": before})
    return int(row[0]) if row else 0


def count_by_agent(db: Database) -> dict[str, int]:
    """How many memories a store holds of each agent, as far as the login may see."""
    return dict(db.all(sql.count_by_agent, {}))


def sessions_in(db: Database, agent: str, channels: str) -> list[str]:
    """The sessions of all channels whose names begin so."""
    bounds = {"first": channels, "after": f"{channels}\U0010ffff"}
    return [row[0] for row in db.all(sql.sessions_in, {"agent": agent, **bounds})]


def rows_of_session(db: Database, agent: str, session: str) -> list[Row]:
    """Everything of a session, also what was promoted from it, as `remove` takes it."""
    return db.all(sql.rows_of_session, {"agent": agent, "session": session})


def rows_of_memory(db: Database, agent: str, mem_id: str) -> list[Row]:
    """A memory with its promoted copy, or a copy with its original, as `remove` takes them."""
    return db.all(sql.rows_of_memory, {"agent": agent, "mem_id": mem_id})


def put_row(db: Database, row: dict[str, Any]) -> None:
    """Insert a row with what finds it, inside a transaction."""
    db.run(sql.insert_memory, row)
    place = {key: row[key] for key in ("agent", "stage", "sort_at", "mem_id")}
    listed = listed_words(row["words"].split(" "))
    db.run_many(sql.insert_word, [{**place, "word": word} for word in listed])


def remove(db: Database, agent: str, rows: list[Row]) -> None:
    """Delete rows (ID, stage, time and words) with what finds them, inside a transaction."""
    for mem_id, stage, sort_at, words in rows:
        place = {"agent": agent, "stage": stage, "sort_at": sort_at, "mem_id": mem_id}
        listed = listed_words(words.split(" "))
        db.run_many(sql.delete_word, [{**place, "word": word} for word in listed])
        db.run(sql.delete_memory, {"agent": agent, "mem_id": mem_id})


def expire(db: Database, agent: str, before: int) -> int:
    """Delete the working memories that were captured before a time; how many."""
    expired = 0
    while rows := db.all(sql.expired_rows, {"agent": agent, "before": before, "most": PAGE}):
        with db.transaction():
            remove(db, agent, rows)
        expired += len(rows)
    return expired


def strongest(db: Database, agent: str, most: int) -> list[Row]:
    """The long-term rows that matter most: ID, category, text, event and capture time."""
    return db.all(sql.strongest_rows, {"agent": agent, "most": most})


def recent(db: Database, agent: str, since: int, until: int, most: int) -> list[Row]:
    """The working rows of a stretch of time, the newest first; as `strongest`, and the session."""
    params = {"agent": agent, "since": since, "until": until, "most": most}
    return db.all(sql.recent_rows, params)


def rebuild_state(db: Database, agent: str) -> tuple[int | None, bool]:
    """When the compiled file was last rebuilt, and whether a rebuild waits for its minute."""
    row = db.one(sql.get_state, {"agent": agent})
    return (row[0], bool(row[1])) if row else (None, False)


def put_rebuild_state(db: Database, agent: str, last_at: int | None, *, is_wanted: bool) -> None:
    """Keep when the compiled file was rebuilt, or that it has to be."""
    state = {"agent": agent, "last_rebuild_at": last_at, "rebuild_wanted": int(is_wanted)}
    with db.transaction():
        db.run(sql.put_state, state)


def _pages(db: Database, query: str, params: dict[str, object]) -> Iterator[Memory]:
    before, before_id = _NEWER_THAN_ALL
    while True:
        page = {"before": before, "before_id": before_id, "most": PAGE}
        rows = db.all(query, params | page)
        for row in rows:
            yield Memory(*row)
        if len(rows) < PAGE:
            return
        before, before_id = rows[-1][11], rows[-1][0]


def _insert(db: Database, entry: Entry, artifact: Artifact, mem_id: str, key: str | None) -> None:
    sort_at = entry.queued_at if artifact.event_at is None else artifact.event_at
    words = row_words(artifact.text, entry.channel, entry.session)
    row = {
        "mem_id": mem_id,
        "agent": entry.agent,
        "stage": entry.stage,
        "category": artifact.category,
        "significance": artifact.significance,
        "text": artifact.text,
        "event_at": artifact.event_at,
        "stored_at": entry.queued_at,
        "sort_at": sort_at,
        "session": entry.session,
        "channel": entry.channel,
        "source_kind": entry.source_kind,
        "artifact_key": key,
        "status": entry.status,
        "source_mem_id": None,
        "words": " ".join(words),
    }
    put_row(db, row)


def _copy(db: Database, agent: str, original: Row) -> None:
    row = dict(zip(_COPIED, original, strict=True))
    of = row["mem_id"]
    as_copy = {"mem_id": promoted_id(of), "stage": "long_term", "source_mem_id": of}
    put_row(db, {**row, "agent": agent, **as_copy})


def _remove_shown(db: Database, agent: str, row: Row) -> None:
    """Delete a row as `session_rows` gives it."""
    event_at, stored_at = row[5], row[6]
    remove(db, agent, [(row[0], row[1], stored_at if event_at is None else event_at, row[10])])


def _is_same(row: Row, entry: Entry, artifact: Artifact) -> bool:
    """Whether a row of `session_rows` is what would be stored."""
    stored = content_digest(Artifact(row[9], *row[2:6]), row[8], row[11])
    return stored == content_digest(artifact, entry.channel, entry.source_kind)


def _of_session(row: Row) -> Memory:
    event_at, stored_at = row[5], row[6]
    return Memory._make((*row[:11], stored_at if event_at is None else event_at, None))
