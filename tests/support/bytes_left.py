"""Words that nothing else holds, and every file below a folder that still does."""

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

CORE = slice(2, 10)
"""What every form keeps: an index cuts the ends of words, and leaves out how the last one began."""
_RUN = re.compile(rb"[bcdfghjklmnpqrtv]{8,}")
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv")


def word(name: str) -> str:
    """A word of twelve letters, always the same for a name."""
    return sha256(name.encode()).hexdigest()[:12].translate(_LETTERS)


def files_with(folder: Path, words: Iterable[str]) -> list[str]:
    """`PATH: word` for every file below the folder that holds a word, in any plain encoding.

    Escapes of JSON and of URLs leave letters as they are, UTF-16 puts zeros between them, and
    case is ignored.
    """
    wanted = {one[CORE].encode(): one for one in words}
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            cores = _cores(path.read_bytes().translate(None, b"\0").lower())
            found += [f"{path}: {wanted[core]}" for core in wanted.keys() & cores]
    return found


def _cores(content: bytes) -> set[bytes]:
    size = CORE.stop - CORE.start
    return {
        run[0][at : at + size]
        for run in _RUN.finditer(content)
        for at in range(len(run[0]) - size + 1)
    }
