"""What of a message is shown as a hit: the surroundings of a word that was looked for."""

import re
from collections.abc import Callable, Sequence

from mash_plugin.tokens import index_text

SNIPPET_BEFORE, SNIPPET_CHARS, SNIPPET_SCAN = 60, 240, 20_000
FOLLOWED_CHARS = 120
MASKED_CHARS = 2 * SNIPPET_SCAN


def snippet_of(
    text: str, terms: Sequence[str], shown: Callable[[str], str], chars: int = SNIPPET_CHARS
) -> str:
    """The surroundings of the first of the words; `shown` masks before anything is cut out."""
    return _cut(shown(_beginning(text)), terms, chars)


def holds(text: str, terms: Sequence[str]) -> bool:
    """Whether a snippet of this message can show one of the words."""
    tokens = index_text(text[:SNIPPET_SCAN])
    if not set(terms).isdisjoint(tokens.split()):
        return True
    return any(f" {term} " in f" {tokens} " for term in terms if " " in term)


def _beginning(text: str) -> str:
    """As much as a snippet can come from and no half word, for masking takes its time."""
    if len(text) <= MASKED_CHARS:
        return text
    end = max(text.rfind(space, SNIPPET_SCAN, MASKED_CHARS) for space in " \n")
    return text if end < 0 else text[: end + 1]


def _cut(text: str, terms: Sequence[str], chars: int) -> str:
    """The surroundings of the first of the words, on one line."""
    wanted = set(terms)
    spelled = [term for term in terms if " " in term]
    at = 0
    scanned = text[:SNIPPET_SCAN] if holds(text, terms) else ""  # an answer in other words
    for match in re.finditer(r"\S+", scanned):
        tokens = index_text(match[0])
        hits = wanted.intersection(tokens.split())
        if hits or any(f" {term} " in f" {tokens} " for term in spelled):
            inside = [match[0].find(t) for t in hits if t in match[0]]
            at = match.start() + (min(inside) if len(match[0]) > SNIPPET_BEFORE and inside else 0)
            break
    start = max(0, at - SNIPPET_BEFORE)
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    cut = " ".join(text[start : start + chars].split())
    return ("… " if start else "") + cut + (" …" if start + chars < len(text) else "")
