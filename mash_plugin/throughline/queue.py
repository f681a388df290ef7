"""The queue of a workspace: one file for each capture or remembered memory.

A file appears whole (written aside, synced, renamed) and its name tells what is needed to
order and to find it: AGENT-KIND-SESSION-ORDER-CONTENT.json, where AGENT, SESSION and CONTENT
are digests and KIND is `c` for a capture and `r` for a remembered memory. Many may write at
once. Below `stored/` lies what the last drain of each session stored, as digests without text.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from mash_plugin.errors import (
    DiskFull,
    Internal,
    InvalidArgument,
    MashError,
    ReadOnly,
    TooLarge,
)
from mash_plugin.store.failpoint import failpoint
from mash_plugin.syncing import make_folder, sync_folder
from mash_plugin.throughline import marks
from mash_plugin.throughline.artifacts import Artifact, content_digest, memory_id
from mash_plugin.throughline.entries import Entry, decoded, encoded

FOLDER, STORED, SET_ASIDE = "queue", "stored", "set-aside"
ENDING = ".json"
LARGEST_ENTRY = 1 << 20
MOST_WAITING = MOST_STORED = 10_000
"""More than any schedule leaves between two drains; of sessions long stored the oldest go."""
TEMPORARY = ".new-"
_POSTGRES = "-pg"


def pending(workspace: str, agent: str) -> list[str]:
    """The names of the agent's entries in the order in which they were queued."""
    owner = f"{_owner(agent)}-"
    try:
        names = os.listdir(os.path.join(workspace, FOLDER))
    except FileNotFoundError:
        return []
    mine = [name for name in names if name.startswith(owner) and name.endswith(ENDING)]
    return sorted(mine, key=lambda name: (_order(name), name))


def oldest_pending(workspace: str, agent: str) -> int | None:
    """When the first of the agent's entries was queued."""
    names = pending(workspace, agent)
    return _order(names[0]) if names else None


def queued_at(name: str) -> int:
    """When the entry of that name was queued."""
    return _order(name)


def all_pending(workspace: str) -> list[str]:
    """The names of the entries of every agent, the oldest first."""
    try:
        names = os.listdir(os.path.join(workspace, FOLDER))
    except FileNotFoundError:
        return []
    return sorted((name for name in names if name.endswith(ENDING)), key=_order)


def is_of(name: str, agent: str) -> bool:
    """Whether an entry is this agent's, by its name."""
    return name.startswith(f"{_owner(agent)}-")


def put(workspace: str, entry: Entry) -> None:
    """Queue an entry behind those of its session.

    Raises DiskFull, ReadOnly, or TooLarge where nobody drains: nothing is queued.
    """
    folder = os.path.join(workspace, FOLDER)
    data = encoded(entry)
    with told(folder):
        make_folder(folder)
        _refuse_full(folder)
        last = max(map(_order, _of_session(workspace, entry)), default=-1)
        order = max(entry.queued_at, last + 1)
        name = f"{_prefix(entry)}{order:015}-{memory_id(data.decode())}{ENDING}"
        _write(folder, name, data, must_last=True)


def read(workspace: str, name: str) -> Entry:
    """The entry of that name. Raises InvalidArgument for one that no program of ours wrote."""
    try:
        data = _data(os.path.join(workspace, FOLDER, name))
        entry = decoded(data)
        if not name.startswith(_prefix(entry)):
            raise ValueError("it does not belong to the agent and session of its name")
    except ValueError as error:
        raise InvalidArgument(f"The queue's entry {name} cannot be read ({error}).") from None
    return entry


def _data(place: str) -> bytes:
    """What an entry's file holds. Raises ValueError for what is no file, such as a folder."""
    # A named pipe would keep whoever opens it waiting.
    handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no file")
        # To ask for a megabyte costs a megabyte, however little there is.
        return os.read(handle, min(found.st_size, LARGEST_ENTRY) + 1)
    finally:
        os.close(handle)


def remove(workspace: str, name: str) -> None:
    """Take an entry out that is stored."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(workspace, FOLDER, name))


def set_aside(workspace: str, name: str) -> str:
    """Move an entry that cannot be read out of the way; where it lies now."""
    folder = os.path.join(workspace, FOLDER, SET_ASIDE)
    os.makedirs(folder, 0o700, exist_ok=True)
    place = os.path.join(folder, name)
    os.replace(os.path.join(workspace, FOLDER, name), place)
    return place


def list_set_aside(workspace: str) -> list[str]:
    """The names of the entries that no drain could read."""
    try:
        return sorted(os.listdir(os.path.join(workspace, FOLDER, SET_ASIDE)))
    except FileNotFoundError:
        return []


def known_artifacts(
    workspace: str, agent: str, session: str, backend: str = "file"
) -> dict[str, str]:
    """What was last captured of a session, queued or stored: artifact keys with digests.

    What a drain without MM_BACKEND=postgres stored is not in Postgres, and not known there.
    """
    probe = Entry(agent, 0, session, None, None, "working", None, True, ())
    for name in sorted(_of_session(workspace, probe), key=_order, reverse=True):
        with suppress(InvalidArgument, FileNotFoundError):  # drained meanwhile
            return digests(read(workspace, name).artifacts)
    return _read_stored(workspace, agent, session, backend)


def is_pending(workspace: str, entry: Entry) -> bool:
    """Whether an equal memory waits already, whenever it was remembered."""
    wanted = digests(entry.artifacts)
    for name in _of_session(workspace, entry):
        with suppress(InvalidArgument, FileNotFoundError):
            other = read(workspace, name)
            if other.stage == entry.stage and digests(other.artifacts) == wanted:
                return True
    return False


def note_stored(workspace: str, entry: Entry, backend: str = "file") -> None:
    """Keep which artifacts of a session are stored, so that a capture need not ask the store.

    Lost in a power cut it only costs that a capture is queued and recognised once more.
    """
    folder = os.path.join(workspace, FOLDER, STORED)
    data = marks.encoded(digests(entry.artifacts), marks.store_of(workspace))
    name = _stored_name(entry.agent, entry.session or "", backend)
    try:
        _write(folder, name, data, must_last=False)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        _write(folder, name, data, must_last=False)


def noted_in_file(workspace: str) -> list[str]:
    """The places of what is noted of sessions that were stored in the workspace's own file."""
    folder = os.path.join(workspace, FOLDER, STORED)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if not name.endswith(_POSTGRES)]


def forget_stored(workspace: str) -> None:
    """Take back what is noted of a file that is gone: what is captured again is stored again."""
    for place in noted_in_file(workspace):
        with suppress(FileNotFoundError):
            os.unlink(place)


def clear_leftovers(workspace: str, now: int) -> None:
    """Remove what writers that were killed an hour ago left behind, and the oldest of `stored/`.

    A session of which nothing is noted any more is queued once more, and recognised by the store.
    """
    folder = os.path.join(workspace, FOLDER)
    with suppress(OSError):
        for file in os.scandir(folder):
            if file.name.startswith(TEMPORARY) and now / 1000 - file.stat().st_mtime > 3600:
                os.unlink(file.path)
    with suppress(OSError):
        stored = list(os.scandir(os.path.join(folder, STORED)))
        if len(stored) > MOST_STORED:
            stored.sort(key=lambda file: file.stat().st_mtime)
            for file in stored[:-MOST_STORED]:
                os.unlink(file.path)


def digests(artifacts: Iterable[Artifact]) -> dict[str, str]:
    """What tells the artifacts of one session apart from those of another capture of it."""
    return {artifact.key: content_digest(artifact) for artifact in artifacts}


@contextmanager
def told(place: str, outcome: str = "nothing was queued") -> Iterator[None]:
    """Turn errors of the file system into ours, which say what came of the work."""
    try:
        yield
    except OSError as error:
        raise _fault(place, error, outcome) from error


def _fault(place: str, error: OSError, outcome: str) -> MashError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"The disk is full at {place}; {outcome}. Free some space and run it again."
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(
            f"{place} cannot be written ({error.strerror}); {outcome}."
            " Name a workspace that this user may write (--workspace)."
        )
    return Internal(f"{place}: {error.strerror or error}; {outcome}.")


def _write(folder: str, name: str, data: bytes, *, must_last: bool) -> None:
    temporary = os.path.join(folder, f"{TEMPORARY}{os.getpid()}-{os.urandom(4).hex()}")
    try:
        # A file object would cost more than the writing.
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            if must_last:
                os.fsync(handle)
                failpoint("before_queue_rename")
        finally:
            os.close(handle)
        os.rename(temporary, os.path.join(folder, name))
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if must_last:
        try:
            sync_folder(folder)
        except OSError:  # who is told that nothing was queued must find nothing
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))
            raise


def _refuse_full(folder: str) -> None:
    waiting = sum(name.endswith(ENDING) for name in os.listdir(folder))
    if waiting >= MOST_WAITING:
        raise TooLarge(
            f"{waiting} entries wait in {folder}, which nobody drains; nothing was queued."
            " Store them with `mash consolidate`, then run it again."
        )


def _of_session(workspace: str, entry: Entry) -> list[str]:
    prefix = _prefix(entry)
    try:
        names = os.listdir(os.path.join(workspace, FOLDER))
    except FileNotFoundError:
        return []
    return [name for name in names if name.startswith(prefix) and name.endswith(ENDING)]


def _prefix(entry: Entry) -> str:
    kind = "c" if entry.replaces_session else "r"
    return f"{_owner(entry.agent)}-{kind}-{memory_id(entry.session or '')}-"


def _owner(agent: str) -> str:
    return memory_id("agent", agent)[:12]


def _order(name: str) -> int:
    parts = name.split("-")
    return int(parts[3]) if len(parts) > 3 and parts[3].isdecimal() else 0


def _stored_name(agent: str, session: str, backend: str) -> str:
    return f"{_owner(agent)}-{memory_id(session)}" + (_POSTGRES if backend == "postgres" else "")


def _read_stored(workspace: str, agent: str, session: str, backend: str) -> dict[str, str]:
    # Captures may run without the setting that drains have; whoever has it means it.
    backends = ("postgres",) if backend == "postgres" else ("file", "postgres")
    for each in backends:
        place = os.path.join(workspace, FOLDER, STORED, _stored_name(agent, session, each))
        store = marks.store_of(workspace) if each == "file" else None
        with suppress(FileNotFoundError), open(place, encoding="ascii", errors="replace") as file:
            if known := marks.decoded(file.read(), store):
                return known
    return {}
