"""Bring the record store back from a backup; what was there is kept under another name."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import apsw

from mash_plugin.errors import InvalidArgument, MashError, StoreBusy, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store.backup import Contents, backups, contents, copy, newest_good, verify
from mash_plugin.store.connect import connect_frozen
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.faults import translated, translated_files
from mash_plugin.store.files import make_private_folder, remove_database, set_aside
from mash_plugin.store.forgotten import Marks, older_copies
from mash_plugin.store.mark import take_mark
from mash_plugin.store.queries import load
from mash_plugin.store.rewrite import forget_again, marks_of
from mash_plugin.store.sqlite import Database
from mash_plugin.syncing import sync_folder

WAIT_S = 3.0
ASIDE = "before-restore"
READS = 2
"""A read that failed once must not bring back what was forgotten since."""
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done."""

    backup: str
    kept: str | None
    """Where the former store lies now, if there was one."""
    counts: Mapping[str, int]
    forgotten_again: int | None = 0
    """Records of the backup that were forgotten since and were left out; None when not known."""


def restore(paths: Paths, backup_path: str | None, now: int, *, wait_s: float = WAIT_S) -> Restored:
    """Put a copy of the backup (the newest good one if None) in the store's place.

    What the former store has forgotten stays forgotten, as far as it can still be read.

    The daemon must be gone: its lifetime lock is held from before the first look until the
    end. The copy is whole and on disk before the former store is renamed; nothing is deleted.
    Raises StoreBusy, InvalidArgument, StoreDamaged, UpgradeNeeded or DiskFull.
    """
    with translated_files(paths.store), holding_daemon_lock(paths, wait_s):
        make_private_folder(paths.data)
        mark = take_mark(paths.store)
        is_done = False
        try:
            path, wanted = choose(paths, backup_path)
            part = paths.store + ".restoring"
            marks = _marks_of(paths, part)
            remove_database(part)
            try:
                counts, again = _prepare(path, part, wanted, marks, now)
                failpoint("restore_prepared")
                kept = set_aside(paths.store, ASIDE)
                failpoint("restore_set_aside")
                os.rename(part, paths.store)
                failpoint("restore_renamed")
                sync_folder(paths.data)
            finally:
                # Once the former store is set aside, this copy alone knows what its log forgot.
                if os.path.exists(paths.store):
                    remove_database(part)
            is_done = True
        finally:
            if mark:
                mark.release(is_clean=is_done or not mark.was_left)
    return Restored(path, kept, counts, again)


@contextmanager
def holding_daemon_lock(paths: Paths, wait_s: float) -> Iterator[None]:
    """Keep every daemon away meanwhile; raises StoreBusy when one runs for longer than the wait."""
    make_private_folder(paths.run)
    flags = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(paths.daemon_lock, flags, 0o600)
    try:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise StoreBusy(
                        "The mash daemon is running; nothing was changed."
                        " Stop it with `mash daemon stop`, then restore again."
                    ) from error
                time.sleep(_POLL_S)
        yield
    finally:
        os.close(fd)


def choose(paths: Paths, backup_path: str | None) -> tuple[str, Contents]:
    """The backup to restore (the newest good one if None), and what it holds.

    Raises InvalidArgument, StoreDamaged or UpgradeNeeded.
    """
    if backup_path is None:
        newest = newest_good(paths.backups)
        if newest is None:
            raise StoreDamaged(f"No good backup lies in {paths.backups}; nothing was changed.")
        return newest.path, verify(newest.path)
    path = os.path.abspath(backup_path)
    if not os.path.isfile(path):
        there = ", ".join(b.path for b in backups(paths.backups)) or f"none in {paths.backups}"
        raise InvalidArgument(f"No backup at {path}; there are: {there}.")
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise InvalidArgument(f"{path} is a link; name the backup itself. Nothing was changed.")
    if found.st_uid != os.getuid():
        raise InvalidArgument(
            f"{path} belongs to user {found.st_uid}, not to you: copy it if you trust it, then"
            " restore the copy. Nothing was changed."
        )
    return path, verify(path)


def _marks_of(paths: Paths, part: str) -> Marks | None:
    """What the store has forgotten; None where it cannot be read.

    Where a restore was killed, the store that it had set aside tells, and its unfinished copy:
    what the former log holds may not be read any more, and is in the copy.
    """
    if os.path.exists(paths.store):
        return _read_marks(paths.store)
    if not os.path.exists(part):
        return None
    aside = [p for p in older_copies(paths.data, ()) if p.startswith(f"{paths.store}.{ASIDE}-")]
    newest = sorted(aside, key=lambda path: int(path.rpartition("-")[2]))[-1:]
    found = [marks for marks in map(_read_marks, [*newest, part]) if marks]
    if not found:
        return None
    records, chats = (frozenset().union(*sets) for sets in list(zip(*found, strict=True))[1:])
    return Marks(found[0].identity, records, chats)


def _read_marks(store: str) -> Marks | None:
    for _ in range(READS):
        with suppress(MashError, apsw.Error):
            return marks_of(store)
    return None


def _prepare(
    path: str, part: str, wanted: Contents, marks: Marks | None, now: int
) -> tuple[Mapping[str, int], int | None]:
    with translated(path):
        source = connect_frozen(path)
        try:
            copy(source, part, journal="WAL")
        finally:
            source.close()
    if verify(part) != wanted:
        raise StoreDamaged(f"The copy of {path} differs from it; nothing was changed.")
    database = Database(part, "FULL", access="existing")
    try:
        with database.writing() as db:
            # Two stores that came from one backup have one identity, but not one generation.
            for key, value in (("generation", os.urandom(16)), ("restored_at", b"%d" % now)):
                db.run(load("identity").set_meta, {"key": key, "value": value})
            again = forget_again(db, marks, now) if marks else None
            counts = contents(db).counts
        database.checkpoint("TRUNCATE")  # a failing one at close would be passed over
        database.scrub()
    finally:
        database.close()
    return counts, again
