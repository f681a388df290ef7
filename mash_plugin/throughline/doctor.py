"""What an examination of a workspace finds: the queue, the store, and what each setting does."""

import os
from collections.abc import Iterator

from mash_plugin.errors import MashError
from mash_plugin.throughline import queue
from mash_plugin.throughline.findings import Finding
from mash_plugin.throughline.settings import Settings

NEEDS_POSTGRES = (
    "The checks promotion, lineage and capture_index need Postgres; this workspace uses"
    " the file backend."
)
_MINUTES_15 = 15 * 60_000


def findings(settings: Settings, agent: str | None, now: int) -> Iterator[Finding]:
    """Everything about a workspace; nothing is created or changed by looking."""
    yield from _settings(settings)
    yield from _queue(settings, agent, now)
    yield from _store(settings, now)


def _settings(settings: Settings) -> Iterator[Finding]:
    effects = {
        "MM_BACKEND": f"{settings.backend}: queue and compiled file lie in {settings.workspace}",
        "MM_WORKING_COMPILE": _effect(
            settings.compile, "the compiled file has a section Recent (48h)", "it has none"
        ),
        "MM_WORKING_AUTO_REFRESH": _effect(
            settings.auto_refresh,
            "a drain of important working memories rebuilds the compiled file",
            "working memories never rebuild it",
        ),
        "MM_WORKING_PROMOTE": _effect(
            settings.promote,
            f"working memories expire {settings.ttl_hours} h after capture",
            "working memories never expire; the buffer keeps growing",
        ),
        "MM_WORKING_COPY_PROMOTE": _effect(
            settings.copy_promote, "what matters is copied before it expires", "nothing is copied"
        ),
        "MM_WORKING_TTL_HOURS": f"{settings.ttl_hours}",
    }
    for fault in settings.without_effect:
        yield Finding("setting", "warning", f"{fault}; it does nothing", "Correct config.toml.")
    for name, effect in effects.items():
        yield Finding(name, "ok", f"{name} = {effect}")


def _effect(is_on: bool, on: str, off: str) -> str:
    return f"on: {on}" if is_on else f"off: {off}"


def _queue(settings: Settings, agent: str | None, now: int) -> Iterator[Finding]:
    aside = queue.list_set_aside(settings.workspace)
    if aside:
        folder = os.path.join(settings.workspace, queue.FOLDER, queue.SET_ASIDE)
        yield Finding(
            "set-aside",
            "warning",
            f"{len(aside)} entries could not be read: {', '.join(aside[:3])}",
            f"Look at them in {folder}; delete what nobody needs.",
        )
    if agent is None:
        return
    oldest = queue.oldest_pending(settings.workspace, agent)
    if oldest is None:
        yield Finding("queue", "ok", f"nothing is queued for {agent}")
    elif now - oldest > _MINUTES_15:
        yield Finding(
            "queue",
            "warning",
            f"the oldest capture of {agent} has waited for {(now - oldest) // 60_000} minutes",
            f"meaning-memory consolidate --agent-id {agent} --drain-only"
            f" --workspace {settings.workspace} ... every few minutes",
        )
    else:
        yield Finding("queue", "ok", f"captures of {agent} wait for the next drain")


def _store(settings: Settings, now: int) -> Iterator[Finding]:
    from mash_plugin.throughline.store import open_database

    try:
        db = open_database(settings, to_write=False)
    except MashError as error:
        yield Finding("store", "error", error.message)
        return
    try:
        yield Finding("store", "ok", f"the store can be read: {db.place}")
        if settings.backend == "file":
            yield Finding("backend", "note", NEEDS_POSTGRES)
            return
        from mash_plugin.throughline.checks import checks

        yield from checks(db, settings, now)
    except MashError as error:
        yield Finding("store", "error", error.message)
    finally:
        db.close()
