"""Words between quotation marks: somebody else may have said them. Pure.

A mark opens before a word and closes behind one, whatever its half; so apostrophes, the signs of
inches and marks without their other half enclose nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mash_plugin.records.evidence import find_folded, fold, is_spaced

_KIND = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\uff02", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    "\xab": "\xbb",
    "\u2039": "\u203a",
}
_MARK = re.compile(f"(?<!\\\\)[\"'`\xbb\u203a{''.join(_KIND)}]")
_FRENCH = "\xab\u2039"
"""A space may follow them, and stand before their other half."""
_BRACKETS = re.compile(
    "\u300c[^\u300c\u300d]*\u300d|\u300e[^\u300e\u300f]*\u300f|\u301d[^\u301d-\u301f]*[\u301e\u301f]"
)
LETTER = re.compile(r"[^\W_]")
BLANK = "\0"
BLANKS = re.compile(f"{BLANK}+")


class Place(NamedTuple):
    """Where a quote stands in a text, a line each, with a blank for what marks enclose."""

    start: int
    end: int
    text: str
    bare: str


def places_outside(quote: str, text: str) -> Iterator[Place]:
    """The places where the quote stands in the text with a letter that no marks enclose.

    Marks around all that was typed set nothing apart: there every quote does.
    """
    lines = "\n".join(filter(None, map(fold, text.splitlines())))
    wanted, folded = fold(quote), lines.replace("\n", " ")
    bare = outside(folded)
    if not LETTER.search(bare):
        bare = folded
    start = find_folded(wanted, folded)
    while start is not None:
        letter = LETTER.search(bare, start)
        if letter is None:
            return
        end = start + len(wanted)
        if letter.start() < end:
            yield Place(start, end, lines, bare)
        start = find_folded(wanted, folded, max(start + 1, letter.start() - len(wanted) + 1))


def outside(text: str) -> str:
    """The text as long as it was, with a blank for each character that marks enclose."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(_enclosed(text)):
        pieces += text[at:start], BLANK * (end - max(start, at))
        at = max(at, end)
    return "".join(pieces) + text[at:]


def _enclosed(text: str) -> list[tuple[int, int]]:
    """From each mark that opens to the next of its kind that closes, if none opens in between."""
    found = [match.span() for match in _BRACKETS.finditer(text)]
    opened: dict[str, int] = {}
    for match in _MARK.finditer(text):
        mark, at = match[0], match.start()
        kind = _KIND.get(mark, mark)
        before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2] or " "
        if kind in opened and _closes(text[opened[kind]], mark, before, after):
            found.append((opened.pop(kind), at + 1))
        elif mark in _FRENCH or not (after.isspace() or is_spaced(before)):
            opened[kind] = at
    return found


def _closes(opening: str, mark: str, before: str, after: str) -> bool:
    if opening in _FRENCH:
        return mark != opening
    return not (before.isspace() or is_spaced(after))
