"""A SQLite VFS over the real one whose n-th call fails, once or for ever."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


class FaultyVFS(apsw.VFS):
    """Counts calls once armed; the wanted one raises."""

    def __init__(self) -> None:
        super().__init__("faulty", "unix")
        self.site = ""
        self.at = self.calls = 0
        self.code = 0
        self.is_lasting = False
        self.has_failed = False

    def arm(self, site: str, at: int, code: int, *, is_lasting: bool = False) -> None:
        """Make call number `at` of xWrite, xSync, xRead or xOpen fail with that SQLite code."""
        self.site, self.at, self.code, self.is_lasting = site, at, code, is_lasting
        self.calls, self.has_failed = 0, False

    def disarm(self) -> None:
        self.site = ""

    def pass_or_fail(self, site: str) -> None:
        if site != self.site:
            return
        self.calls += 1
        if self.calls == self.at or (self.is_lasting and self.calls > self.at):
            self.has_failed = True
            raise apsw.exception_for(self.code)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        self.pass_or_fail("xOpen")
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(
        self, vfs: FaultyVFS, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._faults = vfs
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._faults.pass_or_fail("xWrite")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._faults.pass_or_fail("xSync")
        super().xSync(flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self._faults.pass_or_fail("xRead")
        return super().xRead(amount, offset)


@contextmanager
def faulty_vfs() -> Iterator[FaultyVFS]:
    """The faulty VFS as the default one, until the end of the block."""
    vfs = FaultyVFS()
    apsw.set_default_vfs("faulty")
    try:
        yield vfs
    finally:
        apsw.set_default_vfs("unix")
        vfs.unregister()
