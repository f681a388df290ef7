"""The files below a folder, watched: what SQLite and `os` do to them is written down, or fails."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw

from tests.crash.disk import Journal
from tests.crash.faults import Faults

_FIRST_SYNC_NAMES = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL
"""SQLite's own VFS syncs the folder too when such a file that it made is synced first."""


class WatchedVFS(apsw.VFS):
    """SQLite's usual VFS, with a journal of what it does and faults on its way."""

    def __init__(self, faults: Faults, journal: Journal | None) -> None:
        super().__init__("watched", "unix")
        self.faults, self.journal = faults, journal

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        self.faults.pass_or_fail("xOpen")
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.faults.pass_or_fail("xDelete")
        super().xDelete(filename, syncdir)
        if self.journal is not None and self.journal.is_ours(filename):
            self.journal.unlink(filename)
            if syncdir:
                _sync_folder_of(self.journal, filename)


class _File(apsw.VFSFile):
    def __init__(
        self, vfs: WatchedVFS, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._faults, self._journal, self._node = vfs.faults, vfs.journal, -1
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._path, self._names_folder = path or "", False
        wanted = flags[0]
        super().__init__("unix", name, flags)
        if vfs.journal is not None and path and vfs.journal.is_ours(path):
            found = vfs.journal.find(path)
            self._names_folder = found is None and bool(wanted & _FIRST_SYNC_NAMES)
            self._node = vfs.journal.make(path) if found is None else found

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._faults.is_due("xWrite"):
            if self._faults.is_short:
                self._write(bytes(data)[: len(data) // 2], offset)
            raise self._faults.error()
        self._write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._faults.pass_or_fail("xTruncate")
        super().xTruncate(newsize)
        if self._journal is not None and self._node >= 0:
            self._journal.truncate(self._node, newsize)

    def xSync(self, flags: int) -> None:
        self._faults.pass_or_fail("xSync")
        super().xSync(flags)
        if self._journal is not None and self._node >= 0:
            self._journal.sync(self._node)
            if self._names_folder:
                self._names_folder = False
                _sync_folder_of(self._journal, self._path)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._faults.pass_or_fail("xRead")
        return super().xRead(amount, offset)

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        if self._journal is not None and self._node >= 0:
            self._journal.write(self._node, offset, data)


@contextmanager
def faulty_vfs() -> Iterator[Faults]:
    """Faults in SQLite's files alone, until the end of the block."""
    faults = Faults()
    with _default_vfs(faults, None):
        yield faults


@contextmanager
def watched(
    root: Path, *, faults: Faults | None = None, journal: Journal | None = None
) -> Iterator[None]:
    """Watch everything below the folder, until the end of the block."""
    faults = faults or Faults()
    calls = _Calls(str(root), faults, journal)
    with _default_vfs(faults, journal), ExitStack() as stack:
        for name in ("open", "close", "write", "fsync", "rename", "replace", "unlink", "remove"):
            stack.enter_context(patch.object(os, name, getattr(calls, name)))
        for name in ("mkdir", "link", "ftruncate", "pwrite"):
            stack.enter_context(patch.object(os, name, getattr(calls, name)))
        yield


@contextmanager
def _default_vfs(faults: Faults, journal: Journal | None) -> Iterator[None]:
    vfs = WatchedVFS(faults, journal)
    apsw.set_default_vfs("watched")
    try:
        yield
    finally:
        apsw.set_default_vfs("unix")
        vfs.unregister()


class _Calls:
    """The functions of `os` that change files, for files below one folder.

    What a file object wrote past them is found when its file is synced, renamed or closed.
    """

    def __init__(self, root: str, faults: Faults, journal: Journal | None) -> None:
        self._root, self._faults, self._journal = root, faults, journal
        self._real: dict[str, Callable[..., Any]] = {
            name: getattr(os, name)
            for name in (
                *("open", "close", "write", "fsync", "rename", "unlink", "mkdir", "link"),
                *("ftruncate", "pwrite", "replace"),
            )
        }
        self._paths: dict[int, str] = {}
        """By descriptor, of files and folders of ours."""

    def open(self, path: Any, flags: int, *args: Any, **options: Any) -> int:
        name = os.fsdecode(path)
        is_ours = self._is_ours(name) and "dir_fd" not in options
        if is_ours and flags & (os.O_WRONLY | os.O_RDWR):
            self._faults.pass_or_fail("open")
        fd: int = self._real["open"](path, flags, *args, **options)
        if is_ours:
            self._paths[fd] = name
            self._catch_up(name)
        return fd

    def close(self, fd: int) -> None:
        if fd in self._paths:
            self._catch_up(self._paths.pop(fd))
        self._real["close"](fd)

    def write(self, fd: int, data: Any) -> int:
        if fd in self._paths and self._faults.is_due("write"):
            if not self._faults.is_short or not len(data) // 2:
                raise self._faults.error()
            data = data[: len(data) // 2]
        done: int = self._real["write"](fd, data)
        self._catch_up(self._paths.get(fd))
        return done

    def pwrite(self, fd: int, data: bytes, at: int) -> int:
        done: int = self._real["pwrite"](fd, data, at)
        self._catch_up(self._paths.get(fd))
        return done

    def ftruncate(self, fd: int, size: int) -> None:
        self._real["ftruncate"](fd, size)
        self._catch_up(self._paths.get(fd))

    def fsync(self, fd: int) -> None:
        path = self._paths.get(fd)
        if path is not None:
            self._faults.pass_or_fail("fsync")
        self._real["fsync"](fd)
        self._catch_up(path)
        if path is not None and self._journal is not None:
            node = self._journal.find(path)
            if node is not None:
                self._journal.sync(node)

    def rename(self, old: Any, new: Any) -> None:
        names = os.fsdecode(old), os.fsdecode(new)
        if self._is_ours(names[1]):
            self._faults.pass_or_fail("rename")
            self._catch_up(names[0])
        self._real["rename"](old, new)
        if self._journal is not None and self._is_ours(names[1]):
            self._journal.move(*names)

    replace = rename

    def unlink(self, path: Any, **options: Any) -> None:
        name = os.fsdecode(path)
        is_ours = self._is_ours(name) and not options
        if is_ours:
            self._faults.pass_or_fail("unlink")
        self._real["unlink"](path, **options)
        if self._journal is not None and is_ours and self._journal.find(name) is not None:
            self._journal.unlink(name)

    remove = unlink

    def link(self, source: Any, path: Any, **options: Any) -> None:
        names = os.fsdecode(source), os.fsdecode(path)
        if self._is_ours(names[1]):
            self._faults.pass_or_fail("link")
            self._catch_up(names[0])
        self._real["link"](source, path, **options)
        if self._journal is not None and self._is_ours(names[1]):
            node = self._journal.find(names[0])
            assert node is not None
            self._journal.link(names[1], node)

    def mkdir(self, path: Any, *args: Any, **options: Any) -> None:
        name = os.fsdecode(path)
        if self._is_ours(name) and not os.path.isdir(name):
            self._faults.pass_or_fail("mkdir")
        self._real["mkdir"](path, *args, **options)
        if self._journal is not None and self._is_ours(name):
            self._journal.make(name, is_folder=True)

    def _is_ours(self, path: str) -> bool:
        return path.startswith(self._root) and not path.endswith("-shm")

    def _catch_up(self, path: str | None) -> None:
        """Write down what a file holds that nobody has told of."""
        journal = self._journal
        if journal is None or path is None or os.path.isdir(path) or not os.path.exists(path):
            return
        node = journal.find(path)
        if node is None:
            node = journal.make(path)
        found = _content(path, self._real)
        known = journal.content[node]
        if len(found) < len(known):
            journal.truncate(node, len(found))
        if found != known:
            at = 0 if not found.startswith(known) else len(known)
            journal.write(node, at, found[at:])


def _content(path: str, real: dict[str, Callable[..., Any]]) -> bytes:
    fd = real["open"](path, os.O_RDONLY)
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        real["close"](fd)


def _sync_folder_of(journal: Journal, path: str) -> None:
    folder = journal.find(os.path.dirname(path))
    if folder is not None:
        journal.sync(folder)
