"""One name written as one word and as several: mysql, MySQL and my sql. Pure.

Tokens are cut at inner capitals, so what a text holds hangs on how its writer wrote the name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mash_plugin.tokens import STOP, plain_words, stem_of, words

LEAST, MOST = 3, 24
"""The characters of a word that is taken apart."""
MOST_PIECES = 3
LEAST_OF_THREE = 2
_LEFT_OVER = frozenset("adlmst")
"""Lone letters that mostly are what is left of `don't` or `I'd`."""
KEPT = 4_096
Pieces = tuple[str, ...]


class Spellings(NamedTuple):
    """The words of a question in the other spellings that some texts hold."""

    terms: Sequence[str]
    apart: Mapping[str, Sequence[Pieces]]
    """Words of the question to the words that they are written as."""
    together: Mapping[str, Pieces]
    """Words of the texts to the neighbouring words of the question that they are made of."""

    def held_by(self, tokens: Collection[str]) -> set[str]:
        """Those words of the question that a text holds in any spelling."""
        held = {term for term in self.terms if term in tokens}
        for term, spelled in self.apart.items():
            if any(all(piece in tokens for piece in pieces) for pieces in spelled):
                held.add(term)
        for word, pieces in self.together.items():
            if word in tokens:
                held.update(pieces)
        return held


def spellings(terms: Sequence[str], vocabulary: Collection[str]) -> Spellings:
    """The spellings of a question's tokens, in order, among the tokens of all texts."""
    apart = {
        term: spelled
        for term in terms
        if (spelled := [p for p in pieces_of(term) if all(piece in vocabulary for piece in p)])
    }
    return Spellings(terms, apart, dict(_together(terms, vocabulary)))


def all_spellings(text: str) -> tuple[tuple[str, ...], ...]:
    """Each word of a text as it stands among tokens, a space before, in all its spellings.

    As it was typed it may be the beginning of a token; for two words these stand together.
    """
    joined: dict[str, dict[str, None]] = {}
    for pieces in neighbours(plain_words(text)):
        for term in map(stem_of, pieces):
            joined.setdefault(term, {})[f" {stem_of(''.join(pieces))} "] = None
    return tuple(
        (
            f" {term}",
            *joined.get(term, ()),
            *(f" {' '.join(p)} " for p in pieces_of(term) if len(p) < MOST_PIECES),
        )
        for term in dict.fromkeys(words(text))
    )


@lru_cache(maxsize=KEPT)
def pieces_of(term: str) -> tuple[Pieces, ...]:
    """All ways to write a token as two or three words, none of them a stop word."""
    if not (LEAST <= len(term) <= MOST and term.isascii() and term.isalpha()):
        return ()
    found: dict[Pieces, None] = {}
    for at in range(1, len(term) - 1):
        first, rest = term[:at], term[at:]
        found[first, rest] = None
        if at >= LEAST_OF_THREE:
            for end in range(LEAST_OF_THREE, len(rest) - LEAST_OF_THREE + 1):
                found[first, rest[:end], rest[end:]] = None
    # The last piece lost its ending with the whole word.
    made = ((*map(stem_of, pieces[:-1]), pieces[-1]) for pieces in found)
    return tuple(p for p in made if STOP.isdisjoint(p) and _LEFT_OVER.isdisjoint(p))


def neighbours(terms: Sequence[str]) -> Iterator[Pieces]:
    """Two or three words of a question that stand beside each other."""
    for many in range(2, MOST_PIECES + 1):
        for at in range(len(terms) - many + 1):
            yield tuple(terms[at : at + many])


def _together(terms: Sequence[str], vocabulary: Iterable[str]) -> Iterator[tuple[str, Pieces]]:
    beginnings: dict[str, list[Pieces]] = {}
    for pieces in neighbours(terms):
        beginnings.setdefault(pieces[0], []).append(pieces)
    if not beginnings:
        return
    firsts = tuple(beginnings)
    for word in vocabulary:
        if word.startswith(firsts) and word not in beginnings:
            made = pieces_of(word)
            for first, sequences in beginnings.items():
                if word.startswith(first):
                    yield from ((word, pieces) for pieces in sequences if pieces in made)
