"""Whether two wordings are equal or similar (R-109). Similar wording is not agreement. Pure."""

import unicodedata
from typing import Literal, NamedTuple

from mash_plugin.tokens import is_dense, significant

ALIKE = 500
"""The score from which a wording counts as similar: half of all words are shared."""
CONTAINED_WORDS = 3
EXACT, MOST_SIMILAR = 1000, 999
_PART_OF_A_NAME = frozenset("#%&@/\\")


class Wording(NamedTuple):
    """A statement made ready for comparing."""

    folded: str
    """Without case, punctuation and superfluous white space."""
    words: frozenset[str]
    """Folded words without stop words; pairs of characters in scripts without spaces."""


class Likeness(NamedTuple):
    """How far two wordings agree, 0-1000."""

    match: Literal["exact", "similar"]
    score: int


def wording_of(statement: str) -> Wording:
    """A statement made ready for comparing."""
    return Wording(_folded(statement), frozenset(significant(statement)))


def compare(one: Wording, other: Wording) -> Likeness | None:
    """How far two wordings agree; None where they are not even similar."""
    if one.folded == other.folded:
        return Likeness("exact", EXACT)
    shared = one.words & other.words
    if not shared:
        return None
    score = len(shared) * 1000 // len(one.words | other.words)
    if shared in (one.words, other.words) and _length(shared) >= CONTAINED_WORDS:
        score = max(score, ALIKE)
    return Likeness("similar", min(score, MOST_SIMILAR)) if score >= ALIKE else None


def _folded(statement: str) -> str:
    text = unicodedata.normalize("NFKC", statement).casefold()
    kept = "".join(" " if _is_punctuation(c) else c for c in text)
    return " ".join(kept.split()) or text.strip()


def _is_punctuation(character: str) -> bool:
    """Backticks are no punctuation to Unicode; C# and 5% would be other names without theirs."""
    if character in _PART_OF_A_NAME:
        return False
    return character == "`" or unicodedata.category(character)[0] == "P"


def _length(words: frozenset[str]) -> float:
    """How many words these are: a word of a script without spaces has about two pairs."""
    return sum(0.5 if is_dense(word) else 1 for word in words)
