"""The mark beside an open database: a lock against a second opener, and proof of an unclean end.

It is there while the file is open and goes with a clean close. A power cut before its
directory entry is on disk cannot hide a crash: SQLite syncs the folder with its first log.
"""

import errno
import fcntl
import os
from contextlib import suppress

from mash_plugin.errors import StoreBusy, UnsafePlace
from mash_plugin.file_opening import not_a_file, open_file

_SUSPECT = b"suspect\n"
_FLAGS = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Mark:
    """Holds PATH-open with its lock for as long as the database at PATH is open."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd
        self.was_left = bool(os.pread(fd, 1, 0))
        """The last opener did not close: it was killed, or the power went."""
        self.is_suspect = os.pread(fd, len(_SUSPECT), 0) == _SUSPECT
        """The last opener met a damaged page or a failed fsync."""
        if not self.was_left:
            os.pwrite(fd, b"open\n", 0)

    def suspect(self) -> None:
        """Ask the next opener to check the whole file before it serves anything."""
        if self._fd >= 0:
            os.pwrite(self._fd, _SUSPECT, 0)

    def trust(self) -> None:
        """Take back the suspicion: the whole file was checked."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, b"open\n", 0)

    def release(self, *, is_clean: bool) -> None:
        """Let the next one in; the mark stays behind after an unclean end."""
        if self._fd < 0:
            return
        try:
            if is_clean and _is_still_at(self.path, self._fd):
                with suppress(OSError):  # it stays behind, and costs the next one a check
                    os.unlink(self.path)
        finally:
            os.close(self._fd)
            self._fd = -1


def take_mark(database_path: str) -> Mark | None:
    """Take the mark of a database, or None where no file can be made (read-only, full).

    Raises StoreBusy while another process has the database open, UnsafePlace where something
    else stands in the place of the mark.
    """
    path = database_path + "-open"
    if kind := not_a_file(path):
        raise UnsafePlace(f"{path} is {kind}, not a regular file; move it away.")
    while True:
        try:
            fd = os.open(path, _FLAGS, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still_at(path, fd):
                return Mark(path, fd)
        except BlockingIOError as error:
            os.close(fd)
            raise StoreBusy(
                f"Another mash process has {database_path} open; nothing was saved."
                " Stop it with `mash daemon stop`."
            ) from error
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                return None
            raise
        # The holder removed it between our open and our lock: that file locks nothing.
        os.close(fd)


def is_suspect(database_path: str) -> bool:
    """Whether a process left word that the file may be damaged."""
    try:
        with open(database_path + "-open", "rb", opener=open_file) as file:
            return file.read(len(_SUSPECT)) == _SUSPECT
    except OSError:
        return False


def _is_still_at(path: str, fd: int) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return False
    mine = os.fstat(fd)
    return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)
