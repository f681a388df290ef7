"""Drain the queue of an agent into the store: one drain at a time, each entry exactly once."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from mash_plugin.errors import InvalidArgument, LocalFailure, MashError
from mash_plugin.store.failpoint import failpoint
from mash_plugin.throughline import marks, queue, stored
from mash_plugin.throughline.artifacts import IMPORTANT, Artifact
from mash_plugin.throughline.entries import Entry
from mash_plugin.throughline.mending import lost_store
from mash_plugin.throughline.one_drain import only_one
from mash_plugin.throughline.settings import Settings

if TYPE_CHECKING:
    from mash_plugin.throughline.backend import Database

BATCH = 500
"""Entries in one transaction."""
_ADVICE = {
    "Retry the same operation ID": "Run the drain again",
    "retry the same operation ID": "run the drain again",
}
TOOL_ACTION, COMPLETED = "tool_action", "completed"


class Drained(NamedTuple):
    """What a drain did, counted in artifacts; `faults` tells of entries that were not stored."""

    drained: int = 0
    known: int = 0
    failed: int = 0
    faults: tuple[str, ...] = ()
    wants_rebuild: bool = False
    must_rebuild: bool = False
    """A long-term memory was stored: the compiled file is rebuilt at once (R-217)."""
    note: str = ""
    """What is worth saying although nothing failed."""

    def __str__(self) -> str:
        return (
            f"consolidate: {self.drained} drained, {self.known} already stored,"
            f" {self.failed} failed"
        )


def drain(settings: Settings, agent: str, now: int) -> Drained:
    """Store everything that the agent has queued, and rebuild the compiled file where due.

    An entry that cannot be read is set aside by name; one that the store refuses stays
    queued. Neither keeps the others. With nothing to do no store is opened.
    """
    with queue.told(os.path.join(settings.workspace, queue.FOLDER), "nothing was drained"):
        is_idle = not queue.pending(settings.workspace, agent)
    if is_idle:
        note = _make_up(settings, agent, now) if settings.auto_refresh else ""
        return Drained(note=note or lost_store(settings))
    with only_one(settings.workspace):
        queue.clear_leftovers(settings.workspace, now)
        stored.drop_oldest(settings.workspace)
        return _drain(settings, agent, now)


def _drain(settings: Settings, agent: str, now: int) -> Drained:
    from mash_plugin.throughline.store import open_database

    total = Drained()
    names = queue.pending(settings.workspace, agent)
    is_new = settings.backend == "file" and not marks.store_of(settings.workspace)
    with _queue_kept():
        db = open_database(settings, to_write=True)
    if is_new:
        stored.take_back_all_of_file(settings.workspace)
    try:
        for start in range(0, len(names), BATCH):
            with _queue_kept():
                done, entries = _store_batch(db, settings.workspace, names[start : start + BATCH])
            _take_out(settings, entries)
            total = _added(total, done)
        return total._replace(note=_rebuild_if_due(db, settings, agent, now, total))
    finally:
        db.close()


@contextmanager
def _queue_kept() -> Iterator[None]:
    """Say of a store that fails what becomes of the queue; a drain has no operation ID."""
    try:
        yield
    except LocalFailure as error:
        said = error.message
        for here, there in _ADVICE.items():
            said = said.replace(here, there)
        raise type(error)(f"{said} What was not stored stays queued.") from error


def _store_batch(
    db: "Database", workspace: str, names: Sequence[str]
) -> tuple[Drained, list[tuple[str, Entry]]]:
    """Store a batch in one transaction; only then may its entries leave the queue."""
    total, done = Drained(), []
    with db.transaction():
        for name in names:
            try:
                entry = queue.read(workspace, name)
            except FileNotFoundError:
                continue
            except InvalidArgument as error:
                total = _added(total, _set_aside(workspace, name, error))
                continue
            except PermissionError as error:
                fault = f"{name} stays queued: {error.strerror}; whose file is it?"
                total = _added(total, Drained(failed=1, faults=(fault,)))
                continue
            try:
                with db.transaction():
                    total = _added(total, _store(db, entry))
            except MashError as error:
                if db.is_lost(error):
                    raise
                fault = f"{name} stays queued: {error.message}"
                total = _added(total, Drained(failed=len(entry.artifacts), faults=(fault,)))
            else:
                done.append((name, entry))
        failpoint("before_drain_commit")
    failpoint("after_drain_commit")
    return total, done


def _take_out(settings: Settings, entries: Sequence[tuple[str, Entry]]) -> None:
    """Note what is stored, and let it leave the queue."""
    outcome = "what was read from it is stored, and the next drain finds it so"
    with queue.told(os.path.join(settings.workspace, queue.FOLDER), outcome):
        for name, entry in entries:
            if entry.replaces_session:
                stored.note(settings.workspace, entry, settings.backend)
            failpoint("before_queue_remove")
            queue.remove(settings.workspace, name)


def _store(db: "Database", entry: Entry) -> Drained:
    from mash_plugin.throughline.store import store_capture, store_remembered

    keep = store_capture if entry.replaces_session else store_remembered
    changed = keep(db, entry)
    is_long_term = entry.stage == "long_term"
    return Drained(
        drained=len(changed),
        known=len(entry.artifacts) - len(changed),
        wants_rebuild=any(_is_important(entry, artifact) for artifact in changed),
        must_rebuild=is_long_term and bool(changed),
    )


def _is_important(entry: Entry, artifact: Artifact) -> bool:
    if artifact.category == TOOL_ACTION and entry.status == COMPLETED:
        return True
    return artifact.significance >= IMPORTANT


def _set_aside(workspace: str, name: str, error: InvalidArgument) -> Drained:
    place = queue.set_aside(workspace, name)
    return Drained(failed=1, faults=(f"{error.message} It was set aside as {place}.",))


def _added(one: Drained, two: Drained) -> Drained:
    return Drained(
        drained=one.drained + two.drained,
        known=one.known + two.known,
        failed=one.failed + two.failed,
        faults=one.faults + two.faults,
        wants_rebuild=one.wants_rebuild or two.wants_rebuild,
        must_rebuild=one.must_rebuild or two.must_rebuild,
    )


def _make_up(settings: Settings, agent: str, now: int) -> str:
    """Do the rebuild that an earlier drain left to the next minute."""
    from mash_plugin.throughline.store import open_database, rebuild_state

    db = open_database(settings, to_write=False)
    try:
        is_wanted = rebuild_state(db, agent)[1]
    finally:
        db.close()
    if not is_wanted:
        return ""
    with only_one(settings.workspace):
        db = open_database(settings, to_write=True)
        try:
            return _rebuild_if_due(db, settings, agent, now, Drained())
        finally:
            db.close()


def _rebuild_if_due(db: "Database", settings: Settings, agent: str, now: int, done: Drained) -> str:
    """Rebuild the compiled file where that is wanted; what is worth saying about it."""
    from mash_plugin.throughline.compile import rebuild, rebuild_if_due

    rebuilt = None
    if done.must_rebuild:
        rebuilt = rebuild(db, settings, agent, now)
    elif settings.auto_refresh:
        rebuilt = rebuild_if_due(db, settings, agent, now, is_wanted=done.wants_rebuild)
    return rebuilt.note if rebuilt else ""
