"""Bare answers: words that agree or refuse without saying to what.

The phrases of each language are data, in approvals.txt.
"""

import re
import unicodedata
from functools import cache

from mash_plugin.tokens import STOP

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CHOICE = re.compile(r"\d{1,2}|[a-e]|i{1,3}|iv|v")
_LONGEST = 16
# People type "yesss" and "okayyy": a letter counts once, in the quote as in the list.
_REPEATED = re.compile(r"([^\W\d_])\1+")


def is_bare_approval(quote: str) -> bool:
    """Whether the quote only agrees: nothing but listed phrases and stop words, or no words."""
    tokens, listed = _tokens(quote), _listed()
    reached = {0}
    for start in range(len(tokens)):
        if start in reached:
            reached.update(
                end
                for end in range(start + 1, min(len(tokens), start + _LONGEST) + 1)
                if tuple(tokens[start:end]) in listed or _is_choice(tokens[start:end])
            )
    return len(tokens) in reached


def _is_choice(tokens: list[str]) -> bool:
    return len(tokens) == 1 and (tokens[0] in STOP or _CHOICE.fullmatch(tokens[0]) is not None)


def _tokens(text: str) -> list[str]:
    """Words; scripts without spaces give one token for each character."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    # Invisible characters inside a word would make another word of it.
    folded = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    tokens: list[str] = []
    for word in _WORD.findall(folded):
        if any(_is_wide(c) for c in word):
            tokens.extend(word)
        else:
            tokens.append(_REPEATED.sub(r"\1", word))
    return tokens


def _is_wide(character: str) -> bool:
    return "\u0e00" <= character <= "\u0eff" or character >= "\u1100"


@cache
def _listed() -> frozenset[tuple[str, ...]]:
    from importlib import resources  # on the way to a hook's first answer it costs 5 ms

    text = (resources.files("mash_plugin.records") / "approvals.txt").read_text("utf-8")
    languages = (line.partition(": ")[2] for line in text.splitlines() if line[:1] != "#")
    return frozenset(tuple(_tokens(p)) for phrases in languages for p in phrases.split("; "))
