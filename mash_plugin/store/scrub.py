"""Zero what SQLite's secure_delete leaves behind in the unused middle of its pages.

secure_delete zeroes deleted cells and freed pages. When a tree is balanced, though, cells move to
another page and their old copies stay in the gap between the cell pointers and the cells: of
1,000 deleted records 7 to 10 could still be read in the file (SQLite 3.54.1). No reader ever
looks at a gap, so that zeroing it changes nothing but the bytes.
"""

import apsw

from mash_plugin.store.faults import translated

CHUNK = 32 * 1024 * 1024
_READ_WRITE = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
_FILE_HEADER = 100
# The first byte of a tree's page and the bytes before its cell pointers. Overflow and free pages
# begin with a page number instead, whose first byte is zero in any file below 64 GB.
_HEADERS = {2: 12, 5: 12, 10: 8, 13: 8}
_LARGEST = 64 << 30


def zero_gaps(path: str, start: int) -> int | None:
    """Zero the gaps of one chunk of the file; where the next chunk begins, None at the end.

    The caller holds the write lock, and the write-ahead log is empty. Each page is written only
    where its gap is, so that a cut leaves every page readable.
    """
    # Through SQLite's own files: closing another descriptor would drop the locks of this process.
    file = apsw.VFSFile("", path, [_READ_WRITE, 0])
    try:
        size = file.xFileSize()
        if size > _LARGEST:
            return None
        end = min(start + CHUNK, size)
        page = int.from_bytes(file.xRead(2, 16))
        page = 65536 if page == 1 else page
        chunk = file.xRead(end - start, start)
        is_dirty = False
        for at in range(0, len(chunk), page):
            gap = _gap(chunk, at, page, _FILE_HEADER if start + at == 0 else 0)
            if gap and chunk[gap.start : gap.stop] != bytes(len(gap)):
                file.xWrite(bytes(len(gap)), start + gap.start)
                is_dirty = True
        if is_dirty:
            file.xSync(apsw.SQLITE_SYNC_FULL)
        return end if end < size else None
    finally:
        file.xClose()


def zero_while_locked(raw: apsw.Connection, path: str, start: int) -> int | None:
    """The same of a file that `raw` has open, under the write lock that it takes."""
    raw.execute("BEGIN IMMEDIATE")
    try:
        return zero_gaps(path, start)
    finally:
        raw.execute("ROLLBACK")
        # What the cache holds of these pages would bring the old bytes back.
        list(raw.execute("PRAGMA shrink_memory"))


def zero_all_gaps(path: str) -> None:
    """Zero every gap of a file that nobody has open: a copy holds what its pages held."""
    start: int | None = 0
    with translated(path):
        while start is not None:
            start = zero_gaps(path, start)


def _gap(chunk: bytes, at: int, page: int, skipped: int) -> range | None:
    """The unused middle of a tree's page, as places in the chunk."""
    head = at + skipped
    kind = _HEADERS.get(chunk[head])
    if kind is None:
        return None
    cells = int.from_bytes(chunk[head + 3 : head + 5])
    content = int.from_bytes(chunk[head + 5 : head + 7]) or 65536
    begin = skipped + kind + 2 * cells
    if not begin <= content <= page:
        return None
    return range(at + begin, at + content)
