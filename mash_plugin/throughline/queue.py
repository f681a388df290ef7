"""The queue of a workspace: one file for each capture or remembered memory.

A file appears whole (written aside, synced, renamed) and its name tells what is needed to
order and to find it: AGENT-KIND-SESSION-ORDER-CONTENT.json, where AGENT, SESSION and CONTENT
are digests and KIND is `c` for a capture and `r` for a remembered memory. Many may write at
once.
"""

import errno
import os
import stat
from collections.abc import Iterator
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
from mash_plugin.throughline.artifacts import memory_id
from mash_plugin.throughline.entries import Entry, decoded, encoded

FOLDER, SET_ASIDE = "queue", "set-aside"
ENDING = ".json"
LARGEST_ENTRY = 1 << 20
MOST_WAITING = 10_000
"""More than any schedule leaves between two drains."""
TEMPORARY = ".new-"
_CAPTURE, _REMEMBERED = "c", "r"


def pending(workspace: str, agent: str) -> list[str]:
    """The names of the agent's entries in the order in which they were queued."""
    return _names(workspace, f"{owner_of(agent)}-")


def all_pending(workspace: str) -> list[str]:
    """The names of the entries of every agent, the oldest first."""
    return _names(workspace)


def captures_of(workspace: str, agent: str, session: str) -> list[str]:
    """The names of what was captured of a session and waits, the oldest first."""
    return _names(workspace, _prefix(agent, _CAPTURE, session))


def files_of(workspace: str, agent: str, session: str) -> list[str]:
    """The places of every entry that holds text of a session: queued or set aside."""
    folder = os.path.join(workspace, FOLDER)
    aside = os.path.join(folder, SET_ASIDE)
    listed = ((folder, _names(workspace)), (aside, list_set_aside(workspace)))
    prefixes = tuple(_prefix(agent, kind, session) for kind in (_CAPTURE, _REMEMBERED))
    return [
        os.path.join(place, name)
        for place, names in listed
        for name in names
        if name.startswith(prefixes)
    ]


def oldest_pending(workspace: str, agent: str) -> int | None:
    """When the first of the agent's entries was queued."""
    names = pending(workspace, agent)
    return queued_at(names[0]) if names else None


def queued_at(name: str) -> int:
    """When the entry of that name was queued."""
    parts = name.split("-")
    return int(parts[3]) if len(parts) > 3 and parts[3].isdecimal() else 0


def owner_of(agent: str) -> str:
    """How the names of an agent's files begin."""
    return memory_id("agent", agent)[:12]


def is_of(name: str, agent: str) -> bool:
    """Whether an entry is this agent's, by its name."""
    return name.startswith(f"{owner_of(agent)}-")


def put(workspace: str, entry: Entry) -> None:
    """Queue an entry behind those of its session.

    Raises DiskFull, ReadOnly, or TooLarge where nobody drains: nothing is queued.
    """
    folder = os.path.join(workspace, FOLDER)
    data = encoded(entry)
    with told(folder):
        make_folder(folder)
        _refuse_full(folder)
        prefix = _prefix_of(entry)
        last = max(map(queued_at, _names(workspace, prefix)), default=-1)
        order = max(entry.queued_at, last + 1)
        name = f"{prefix}{order:015}-{memory_id(data.decode())}{ENDING}"
        write_whole(folder, name, data, must_last=True)


def read(workspace: str, name: str) -> Entry:
    """The entry of that name. Raises InvalidArgument for one that no program of ours wrote."""
    try:
        data = _data(os.path.join(workspace, FOLDER, name))
        entry = decoded(data)
        if not name.startswith(_prefix_of(entry)):
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


def is_pending(workspace: str, entry: Entry) -> bool:
    """Whether an equal memory waits already, whenever it was remembered."""
    for name in _names(workspace, _prefix_of(entry)):
        with suppress(InvalidArgument, FileNotFoundError):
            other = read(workspace, name)
            if other.stage == entry.stage and other.digests == entry.digests:
                return True
    return False


def clear_leftovers(workspace: str, now: int) -> None:
    """Remove what writers that were killed an hour ago left behind."""
    with suppress(OSError):
        for file in os.scandir(os.path.join(workspace, FOLDER)):
            if file.name.startswith(TEMPORARY) and now / 1000 - file.stat().st_mtime > 3600:
                os.unlink(file.path)


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
    if error.errno == errno.EFBIG:
        from mash_plugin.store.room import limit_message

        return DiskFull(limit_message(place, outcome, "run it again"))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(
            f"{place} cannot be written ({error.strerror}); {outcome}."
            " Let this user write it, or name another workspace (--workspace)."
        )
    return Internal(f"{place}: {error.strerror or error}; {outcome}.")


def write_whole(folder: str, name: str, data: bytes, *, must_last: bool) -> None:
    """Let a file appear with all of its content or not at all."""
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


def _names(workspace: str, prefix: str = "") -> list[str]:
    """The names of the entries that begin so, in the order in which they were queued."""
    try:
        names = os.listdir(os.path.join(workspace, FOLDER))
    except FileNotFoundError:
        return []
    mine = [name for name in names if name.startswith(prefix) and name.endswith(ENDING)]
    return sorted(mine, key=lambda name: (queued_at(name), name))


def _prefix_of(entry: Entry) -> str:
    kind = _CAPTURE if entry.replaces_session else _REMEMBERED
    return _prefix(entry.agent, kind, entry.session or "")


def _prefix(agent: str, kind: str, session: str) -> str:
    return f"{owner_of(agent)}-{kind}-{memory_id(session)}-"
