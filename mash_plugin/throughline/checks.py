"""The three checks of a Postgres store: promotion, lineage and the index of captures."""

from collections.abc import Iterator

from mash_plugin.throughline.backend import Database
from mash_plugin.throughline.findings import Finding
from mash_plugin.throughline.promote import HOUR_MS
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import copies, count_overdue, promoted_id

A_NIGHT_H = 24
"""Promotion runs nightly: what has expired since the last run is not late."""
INDEX = "mm_capture_index"
_LOOK_AT_INDEX = """
SELECT i.indisunique AND i.indisvalid FROM pg_index AS i
WHERE i.indexrelid = to_regclass(:index)
"""


def checks(db: Database, settings: Settings, now: int) -> Iterator[Finding]:
    """What is in order and what is not, for the agent whose login it is."""
    assert db.agent is not None  # noqa: S101 - a login belongs to an agent
    agent = db.agent
    yield _promotion(db, settings, agent, now)
    yield _lineage(db, settings, agent, now)
    yield _capture_index(db)


def _promotion(db: Database, settings: Settings, agent: str, now: int) -> Finding:
    if not settings.promote:
        return Finding("promotion", "ok", "promotion: ok (MM_WORKING_PROMOTE is off)")
    hours = settings.ttl_hours + A_NIGHT_H
    overdue = count_overdue(db, agent, now - hours * HOUR_MS)
    if not overdue:
        return Finding("promotion", "ok", "promotion: ok")
    return Finding(
        "promotion",
        "warning",
        f"promotion: {overdue} working memories of {agent} were to expire"
        f" after {settings.ttl_hours} h and are still there",
        f"Run every night: meaning-memory consolidate --agent-id {agent} --promote-only ...",
    )


def _lineage(db: Database, settings: Settings, agent: str, now: int) -> Finding:
    """A copy names its original, which is there until it expires or its session goes on."""
    until = now - settings.ttl_hours * HOUR_MS
    broken = [
        mem_id
        for mem_id, source, stored_at, is_orphan in copies(db, agent)
        if mem_id != promoted_id(source) or (is_orphan and stored_at > until)
    ]
    if not broken:
        return Finding("lineage", "ok", "lineage: ok")
    return Finding(
        "lineage",
        "error",
        f"lineage: {len(broken)} promoted memories lead to no original: {', '.join(broken[:3])}",
        f"Or the nightly run has an MM_WORKING_TTL_HOURS other than {settings.ttl_hours}: set it in"
        " config.toml, which both read. Else somebody changed the tables by hand; the copies"
        " themselves are whole.",
    )


def _capture_index(db: Database) -> Finding:
    if db.one(_LOOK_AT_INDEX, {"index": INDEX}) == (True,):
        return Finding("capture_index", "ok", "capture_index: ok")
    return Finding(
        "capture_index",
        "error",
        f"capture_index: the unique index {INDEX} is missing or invalid:"
        " a capture could be stored twice",
        "Make it again with the statement of sql/migrations/postgres/0001.sql, as mm_owner.",
    )
