"""What is noted of sessions that a drain stored, so that a capture need not ask the store.

Below `queue/stored/` lies one file for each session and backend: artifact keys with digests,
without text.
"""

import os
from contextlib import suppress

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline import marks, queue
from mash_plugin.throughline.artifacts import memory_id
from mash_plugin.throughline.entries import Entry

FOLDER = os.path.join(queue.FOLDER, "stored")
MOST_NOTES = 10_000
"""More than any schedule leaves; of sessions long stored the oldest go."""
_ON_POSTGRES = "-pg"


def known_artifacts(
    workspace: str, agent: str, session: str, backend: str = "file"
) -> dict[str, str]:
    """What was last captured of a session, queued or stored: artifact keys with digests.

    What a drain without MM_BACKEND=postgres stored is not in Postgres, and not known there.
    """
    for name in reversed(queue.captures_of(workspace, agent, session)):
        with suppress(InvalidArgument, FileNotFoundError):  # drained meanwhile
            return queue.read(workspace, name).digests
    # Captures may run without the setting that drains have; whoever has it means it.
    backends = ("postgres",) if backend == "postgres" else ("file", "postgres")
    for each in backends:
        place = _place(workspace, agent, session, each)
        store = marks.store_of(workspace) if each == "file" else None
        with suppress(FileNotFoundError), open(place, encoding="ascii", errors="replace") as file:
            if known := marks.decoded(file.read(), store):
                return known
    return {}


def note(workspace: str, entry: Entry, backend: str = "file") -> None:
    """Keep which artifacts of a session are stored.

    Lost in a power cut it only costs that a capture is queued and recognised once more.
    """
    data = marks.encoded(entry.digests, marks.store_of(workspace))
    folder, name = os.path.split(_place(workspace, entry.agent, entry.session or "", backend))
    try:
        queue.write_whole(folder, name, data, must_last=False)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        queue.write_whole(folder, name, data, must_last=False)


def take_back(workspace: str, agent: str, session: str) -> None:
    """Note nothing more of a session: what is captured of it again is stored again."""
    for backend in ("file", "postgres"):
        with suppress(FileNotFoundError):
            os.unlink(_place(workspace, agent, session, backend))


def noted_in_file(workspace: str) -> list[str]:
    """The places of what is noted of sessions that were stored in the workspace's own file."""
    folder = os.path.join(workspace, FOLDER)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if not name.endswith(_ON_POSTGRES)]


def take_back_all_of_file(workspace: str) -> None:
    """The same of every session that was stored in a file that is gone."""
    for place in noted_in_file(workspace):
        with suppress(FileNotFoundError):
            os.unlink(place)


def drop_oldest(workspace: str) -> None:
    """Keep the folder small.

    A session of which nothing is noted any more is queued once more, and recognised by the store.
    """
    with suppress(OSError):
        notes = list(os.scandir(os.path.join(workspace, FOLDER)))
        if len(notes) > MOST_NOTES:
            notes.sort(key=lambda file: file.stat().st_mtime)
            for file in notes[:-MOST_NOTES]:
                os.unlink(file.path)


def _place(workspace: str, agent: str, session: str, backend: str) -> str:
    ending = _ON_POSTGRES if backend == "postgres" else ""
    name = f"{queue.owner_of(agent)}-{memory_id(session)}{ending}"
    return os.path.join(workspace, FOLDER, name)
