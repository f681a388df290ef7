"""Files and names that are on disk, not only in memory, when we say so."""

import os
from contextlib import suppress


def sync_file(path: str) -> None:
    """Put a closed file's content on disk."""
    _sync(path, os.O_RDWR)


def sync_folder(folder: str) -> None:
    """Put the folder's names on disk."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def make_folder(folder: str) -> None:
    """Make the folder for its owner alone unless it is there; its name is on disk then.

    So are the names of all above it: another program of ours may have made those just now.
    """
    if os.path.isdir(folder):
        return
    make_private(folder)
    above = os.path.dirname(os.path.abspath(folder))
    sync_folder(above)
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        with suppress(OSError):  # not ours to open, or on a disk that is only read
            sync_folder(above)


def make_private(folder: str) -> None:
    """Make the folder and what is missing above it, for their owner alone whatever the umask.

    `os.makedirs` gives the mode to the last one: others could put theirs in its place.
    """
    above = os.path.dirname(folder)
    if above and not os.path.isdir(above):
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def _sync(path: str, flags: int) -> None:
    fd = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
