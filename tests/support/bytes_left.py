"""Words that nothing else holds, and every file below a folder that still does."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

CORE = slice(2, 10)
"""What every form keeps: an index cuts the ends of words, and leaves out how the last one began."""
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv")


def word(name: str) -> str:
    """A word of twelve letters, always the same for a name."""
    return sha256(name.encode()).hexdigest()[:12].translate(_LETTERS)


def files_with(folder: Path, words: Iterable[str]) -> list[str]:
    """`PATH: word` for every file below the folder that holds a word, in any plain encoding.

    Escapes of JSON and of URLs leave letters as they are; case is ignored.
    """
    wanted = {
        form: one
        for one in words
        for core in [one[CORE]]
        for form in (core.encode(), core.encode("utf-16-le"), core.encode("utf-16-be"))
    }
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes().lower()
        found += [f"{path}: {one}" for form, one in wanted.items() if form in content]
    return found
