"""Forget captured sessions or one memory: rows, queue, notes, compiled file and the bytes."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from mash_plugin.throughline import marks, queue, stored
from mash_plugin.throughline.backend import Database, Row
from mash_plugin.throughline.compile import rebuild_if_there
from mash_plugin.throughline.drain import drain
from mash_plugin.throughline.one_drain import only_one
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import open_database, remove, rows_of_memory, rows_of_session


class Wanted(NamedTuple):
    """What is to be forgotten: sessions with everything in them, or one memory and its copy."""

    agent: str
    sessions: tuple[str, ...] = ()
    mem_id: str | None = None


class Forgotten(NamedTuple):
    """What went, or would go."""

    memories: int
    entries: int
    """Files of the queue: waiting, or set aside because no drain could read them."""
    notes: tuple[str, ...] = ()
    """Where some of it may be left."""


def count(settings: Settings, wanted: Wanted) -> Forgotten:
    """What would go; nothing is changed."""
    memories = 0
    for place in stores(settings):
        with closing(open_database(place, to_write=False)) as db:
            memories += len(_rows(db, wanted))
    return Forgotten(memories, len(_files(settings.workspace, wanted)))


def forget(settings: Settings, wanted: Wanted, now: int) -> Forgotten:
    """Let it go from every store of the workspace and from the queue, which would bring it back.

    Cut off in the middle, it is made good by doing it again.
    """
    workspace, notes = settings.workspace, []
    if wanted.mem_id is not None and queue.pending(workspace, wanted.agent):
        drain(settings, wanted.agent, now)  # an entry has no memory's ID in its name
    with only_one(workspace, "nothing was forgotten"):
        memories, is_clean = 0, True
        for place in stores(settings):
            with closing(open_database(place, to_write=True)) as db:
                with db.transaction():
                    rows = _rows(db, wanted)
                    remove(db, wanted.agent, rows)
                memories += len(rows)
                is_clean = db.scrub() and is_clean
        files = _files(workspace, wanted)
        for file in files:
            with suppress(FileNotFoundError):
                os.unlink(file)
        for session in wanted.sessions:
            stored.take_back(workspace, wanted.agent, session)
        if memories:
            with closing(open_database(settings, to_write=True)) as db:
                rebuild_if_there(db, settings, wanted.agent, now)
    if not is_clean:
        notes.append(
            "Another program reads the store just now: what is gone can still be found in the"
            " bytes of its file. Run this again later."
        )
    notes += _left(settings, wanted)
    return Forgotten(memories, len(files), tuple(filter(None, notes)))


def stores(settings: Settings) -> Iterator[Settings]:
    """The settings of each store that may hold rows: of Postgres, and of the workspace's file."""
    if settings.backend != "file":
        yield settings
    if os.path.exists(os.path.join(settings.workspace, marks.STORE_FILE)):
        yield settings._replace(backend="file")


def _rows(db: Database, wanted: Wanted) -> list[Row]:
    rows = [] if wanted.mem_id is None else rows_of_memory(db, wanted.agent, wanted.mem_id)
    for session in wanted.sessions:
        rows += rows_of_session(db, wanted.agent, session)
    return rows


def _files(workspace: str, wanted: Wanted) -> list[str]:
    with queue.told(os.path.join(workspace, queue.FOLDER), "what waits there is not forgotten"):
        return [
            file
            for session in wanted.sessions
            for file in queue.files_of(workspace, wanted.agent, session)
        ]


def _left(settings: Settings, wanted: Wanted) -> Iterator[str]:
    """What may hold the text and is not ours to judge or to delete."""
    workspace = settings.workspace
    head = f"{marks.STORE_FILE}.damaged-"
    aside = [name for name in os.listdir(workspace) if name.startswith(head)]
    if aside:
        names = ", ".join(sorted(aside))
        yield f"May still hold it: {names} in {workspace}; delete what nobody needs."
    if wanted.mem_id is None:
        return
    unstored = [*queue.pending(workspace, wanted.agent), *queue.list_set_aside(workspace)]
    if any(queue.is_of(name, wanted.agent) for name in unstored):
        folder = os.path.join(workspace, queue.FOLDER)
        yield f"May still hold it: entries of {folder} that could not be stored."
