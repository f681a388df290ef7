"""Private folders, and what SQLite puts beside a database."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from mash_plugin.errors import UnsafePlace
from mash_plugin.syncing import make_folder, sync_folder

if TYPE_CHECKING:
    from mash_plugin.store.sqlite import Database

LONG_LOG_BYTES = 48 << 20


def make_private_folder(folder: str) -> None:
    """Make the folder for its owner alone, or take the others' rights away.

    Raises UnsafePlace for one of another user, who could have prepared what lies in it.
    """
    make_folder(folder)
    found = os.stat(folder)
    if found.st_uid not in (os.getuid(), 0):
        raise UnsafePlace(f"{folder} belongs to user {found.st_uid}, not to you; move it away.")
    mode = found.st_mode
    if mode & 0o077:
        with suppress(OSError):  # a read-only one is read; `mash doctor` names it
            os.chmod(folder, mode & 0o700)


def keep_log_short(database: "Database") -> None:
    """Between the writes of long work: move a write-ahead log that has grown into the file."""
    try:
        is_long = os.path.getsize(database.path + "-wal") > LONG_LOG_BYTES
    except OSError:
        is_long = False
    if is_long:
        database.checkpoint("PASSIVE")


def remove_database(path: str) -> None:
    """Remove an unfinished database of ours with everything SQLite puts beside it."""
    for name in (path, path + "-journal", path + "-wal", path + "-shm"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue


def drop_aside(path: str, word: str) -> None:
    """Remove what `set_aside` has kept of a database that can be made again."""
    folder, name = os.path.split(path)
    for kept in os.listdir(folder):
        if kept.startswith(f"{name}.{word}-"):
            os.unlink(os.path.join(folder, kept))


def set_aside(path: str, word: str) -> str | None:
    """Rename a database with its log to PATH.WORD-N, N unused; None when there was none.

    The file goes first: cut after it, the name is missing (and says so) instead of leaving
    the file without its last writes.
    """
    found = [s for s in ("", "-wal", "-shm") if os.path.lexists(path + s)]
    if not found:
        return None
    number = 1
    while any(os.path.lexists(f"{path}.{word}-{number}{s}") for s in ("", "-wal", "-shm")):
        number += 1
    aside = f"{path}.{word}-{number}"
    for suffix in found:
        os.rename(path + suffix, aside + suffix)
    sync_folder(os.path.dirname(path))
    return aside
