"""The file of an export: made whole or not at all, read only when it is ours."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from mash_plugin.errors import InvalidArgument, plain_reason
from mash_plugin.paths import work_tree_of
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.faults import translated_files
from mash_plugin.syncing import sync_folder

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def opened(path: str, what: str = "export") -> Iterator[BinaryIO]:
    """The bytes of a file of ours. Raises InvalidArgument for a link, another's file, a pipe."""
    try:
        fd = os.open(path, _READ)
    except (OSError, ValueError) as error:
        is_link = isinstance(error, OSError) and error.errno == errno.ELOOP
        why = (
            "is a link; name the file itself"
            if is_link
            else f"cannot be read ({plain_reason(error)})"
        )
        raise InvalidArgument(f"{path} {why}. Nothing was imported.") from error
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):  # Python makes no file object of a folder
        os.close(fd)
        raise InvalidArgument(f"{path} is no file that holds an {what}. Nothing was imported.")
    with os.fdopen(fd, "rb") as file:
        if found.st_uid != os.getuid():
            raise InvalidArgument(
                f"{path} belongs to user {found.st_uid}, not to you: copy it if you trust it, then"
                " import the copy. Nothing was imported."
            )
        yield file


@contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A private file that gets its name when the block has ended well and its bytes are on disk.

    What a killed process left of an earlier try is written over. Raises InvalidArgument when the
    name is taken or the folder is not safe, DiskFull or ReadOnly when it cannot be written.
    """
    folder, name = os.path.split(path)
    if not os.path.isabs(path) or not name or name in (".", ".."):
        raise InvalidArgument(f"{path} is no name of a file to write.")
    part = os.path.join(folder, f".{name}.part")
    with translated_files(path):
        _refuse_unsafe(folder)
        _refuse_taken(path)
        if os.path.islink(part):
            raise InvalidArgument(f"{part} is a link; remove it or choose another name.")
        fd = os.open(part, _WRITE, 0o600)
        try:
            _take(fd, part)
            try:
                with os.fdopen(fd, "w+b", closefd=False) as file:
                    yield file
                    file.flush()
                os.fsync(fd)
                failpoint("export_before_name")
                _give_name(part, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(part)
                raise
            try:
                sync_folder(folder)
            except OSError:  # who is told that it failed must find nothing
                with suppress(OSError):
                    os.unlink(path)
                raise
        finally:
            os.close(fd)


def warnings_about(path: str) -> list[str]:
    """What a person should know about the place of an export."""
    folder = os.path.dirname(os.path.realpath(path))
    warnings = []
    with suppress(OSError):
        if os.stat(folder).st_mode & 0o022:
            warnings.append(f"Others may rename or remove files in {folder}.")
    if tree := work_tree_of(path):
        warnings.append(f"The file lies in the git work tree {tree}: do not commit it.")
    return warnings


def _refuse_unsafe(folder: str) -> None:
    try:
        found = os.stat(folder)
    except FileNotFoundError as error:
        raise InvalidArgument(f"There is no folder {folder}; make it first.") from error
    if not stat.S_ISDIR(found.st_mode):
        raise InvalidArgument(f"{folder} is no folder.")
    is_open = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    if is_open and found.st_uid != os.getuid():
        raise InvalidArgument(f"Anybody may change files in {folder}; choose another folder.")


def _refuse_taken(path: str) -> None:
    if os.path.lexists(path):
        raise InvalidArgument(f"{path} is there already; choose another name or remove it.")


def _take(fd: int, part: str) -> None:
    found = os.fstat(fd)
    is_ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_nlink == 1
    if not is_ours:
        raise InvalidArgument(f"{part} is not ours; remove it or choose another name.")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InvalidArgument(f"Another export writes {part} just now.") from error
    os.ftruncate(fd, 0)
    os.fchmod(fd, 0o600)


def _give_name(part: str, path: str) -> None:
    """Rename without replacing: the name may have been taken meanwhile."""
    try:
        os.link(part, path, follow_symlinks=False)
    except FileExistsError:
        _refuse_taken(path)
        raise
    except OSError:  # a file system without hard links
        _refuse_taken(path)
        os.rename(part, path)
        return
    with suppress(OSError):  # the next export writes over it
        os.unlink(part)
