"""Does the person say it, or only ask, or tell what another said? Pure.

A quote is read with the whole sentences that it is cut from. What the cues find in them is the
person's own; the few other words that tell are data, in own_say.txt.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import pairwise

from mash_plugin.records.approvals import is_bare_approval
from mash_plugin.records.cue_data import FOLDED
from mash_plugin.records.cue_text import plain
from mash_plugin.records.cues import reads_lasting
from mash_plugin.records.quotation_marks import BLANK, BLANKS, LETTER, Place, places_outside

FEW_WORDS = 3
"""Fewer between marks are a name, more can be what somebody said."""
FEW_DENSE = 6
"""Characters of a script without spaces that are as much."""
REACH = 600
"""How far before and behind a quote its sentences are looked for."""

_BORDER = re.compile(r"(?<=[.!?…])\s|(?<=[。！？؟])|\n")
_QUESTION = re.compile(r"[?？؟][?？!)\]*_\s\0]*$")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


class Say(StrEnum):
    """How the words of a quote stand in what was typed."""

    OWN = "own"
    ASKED = "asked"
    REPORTED = "reported"
    QUOTED = "quoted"


def own_say(quote: str, text: str) -> Say:
    """How the person says the quote: as good as the best place where the text has it."""
    found = Say.QUOTED
    for place in places_outside(quote, text):
        found = _at(place)
        if found is Say.OWN:
            break
    return found


def _at(place: Place) -> Say:
    spans = list(_sentences(place))
    bare = "\n".join(place.bare[start:end] for start, end in spans)
    said = plain(BLANKS.sub(" _ ", bare))
    is_asked = all(_QUESTION.search(place.bare[start:end]) for start, end in spans)
    enclosed = "".join(
        letter
        for letter, seen in zip(
            place.text[place.start : place.end], place.bare[place.start : place.end], strict=True
        )
        if seen == BLANK
    )
    is_told = _is_clause(enclosed) and _has("report", said)
    if not (is_asked or is_told) or _has("own", said) or reads_lasting(said):
        return Say.OWN
    if is_told:
        return Say.REPORTED
    if _has("request", said) or is_bare_approval(said):
        return Say.OWN
    return Say.ASKED


def _sentences(place: Place) -> Iterator[tuple[int, int]]:
    """The sentences that the quote is cut from; what marks enclose ends none."""
    first, last = max(0, place.start - REACH), place.end + REACH
    lines = "".join(
        "\n" if line == "\n" else seen
        for line, seen in zip(place.text[first:last], place.bare[first:last], strict=True)
    )
    ends = [match.end() for match in _BORDER.finditer(lines)]
    for start, end in pairwise([0, *ends, len(lines)]):
        is_touched = first + start < place.end and place.start < first + end
        if is_touched and LETTER.search(lines, start, end):
            yield first + start, first + end


def _is_clause(enclosed: str) -> bool:
    dense = len(_DENSE.findall(enclosed))
    return len(_WORD.findall(enclosed)) >= FEW_WORDS or dense >= FEW_DENSE


def _has(kind: str, said: str) -> bool:
    return any(pattern.search(said) for pattern in _patterns()[kind])


@cache
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    found: dict[str, list[re.Pattern[str]]] = {"report": [], "own": [], "request": []}
    with open(__file__.removesuffix("py") + "txt", encoding="utf-8") as file:
        for line in file.read().translate(FOLDED).splitlines():
            head, colon, pattern = line.partition(": ")
            if colon and not line.startswith("#"):
                found[head.split()[0]].append(re.compile(pattern))
    return found
