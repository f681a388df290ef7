"""Has the part of a file that was already taken in changed? Checksums of its blocks tell."""

import os
import zlib
from collections.abc import Iterable

BLOCK = 1 << 20
SUM_BYTES = 4
_PIECE = 1 << 17
ALWAYS_WHOLE = 8
"""Up to so many blocks every append compares the whole file; beyond, a part in turn."""
IN_TURN = 4


def grow_sums(handle: int, sums: bytes, start: int, end: int) -> bytes:
    """Checksums of the bytes up to `end`, given those of the bytes up to `start`."""
    grown = bytearray(sums)
    for number in range(start // BLOCK, -(-end // BLOCK)):
        first = max(start, number * BLOCK)
        before = int.from_bytes(grown[number * SUM_BYTES :], "big") if first % BLOCK else 0
        total = _sum(handle, first, min((number + 1) * BLOCK, end), before)
        grown[number * SUM_BYTES :] = total.to_bytes(SUM_BYTES, "big")
    return bytes(grown)


def blocks_unchanged(handle: int, sums: bytes, end: int, numbers: Iterable[int]) -> bool:
    """Whether these blocks still hold what was taken in."""
    for number in numbers:
        total = _sum(handle, number * BLOCK, min((number + 1) * BLOCK, end), 0)
        place = slice(number * SUM_BYTES, (number + 1) * SUM_BYTES)
        if total.to_bytes(SUM_BYTES, "big") != sums[place]:
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


def _sum(handle: int, start: int, end: int, total: int) -> int:
    # One small buffer again and again: fresh megabytes would cost more than the sum itself.
    buffer = memoryview(bytearray(min(_PIECE, max(0, end - start))))
    while start < end:
        size = os.preadv(handle, [buffer[: end - start]], start)
        if not size:
            break
        total = zlib.crc32(buffer[:size], total)
        start += size
    return total
