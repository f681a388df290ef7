"""Has the part of a file that was already taken in changed? Checksums of its blocks tell."""

import os
import zlib
from collections.abc import Iterable

BLOCK = 1 << 20
SUM_BYTES = 4
ALWAYS_WHOLE = 8
"""Up to so many blocks every append compares the whole file; beyond, a part in turn."""
IN_TURN = 4


def grow_sums(handle: int, sums: bytes, start: int, end: int) -> bytes:
    """Checksums of the bytes up to `end`, given those of the bytes up to `start`."""
    grown = bytearray(sums)
    at = start
    while at < end:
        number = at // BLOCK
        data = os.pread(handle, min((number + 1) * BLOCK, end) - at, at)
        if not data:
            break
        before = int.from_bytes(grown[number * SUM_BYTES :], "big") if at % BLOCK else 0
        grown[number * SUM_BYTES :] = zlib.crc32(data, before).to_bytes(SUM_BYTES, "big")
        at += len(data)
    return bytes(grown)


def blocks_unchanged(handle: int, sums: bytes, end: int, numbers: Iterable[int]) -> bool:
    """Whether these blocks still hold what was taken in."""
    for number in numbers:
        start = number * BLOCK
        data = os.pread(handle, min(start + BLOCK, end) - start, start)
        place = slice(number * SUM_BYTES, (number + 1) * SUM_BYTES)
        if zlib.crc32(data).to_bytes(SUM_BYTES, "big") != sums[place]:
            return False
    return True


def blocks_to_compare(sums: bytes, turn: int, *, whole: bool) -> list[int]:
    """All blocks of a short file; of a long one its ends and, in turn, some of its middle."""
    count = len(sums) // SUM_BYTES
    if whole or count <= ALWAYS_WHOLE:
        return list(range(count))
    middle = range(1, count - 2)
    first = turn * IN_TURN % len(middle)
    return [0, *(list(middle) * 2)[first : first + IN_TURN], count - 2, count - 1]
