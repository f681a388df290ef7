"""The one tokeniser of records, matches and chat search. Pure."""

import re
import unicodedata
from functools import cache

from mash_plugin.normal_form import normal_form

STOP = frozenset(
    "a an and are as at be by do for from in is it of on or that the to was we with you".split()
)
TOKEN_CHARS = 64
MEMO_CHUNKS = 90_000
MEMO_CHUNK_CHARS = 40

# Scripts written without spaces, and Hangul, whose particles stick to the word.
_DENSE = (
    "\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u1100-\u11ff\u3005\u3040-\u30ff\u3130-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff"
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903"
_MARKS += "\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56"
_PUNCTUATION = '.,:;!?()[]{}"`*'
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_POSSESSIVE = re.compile("['\u2019]s(?![^\\W_])", re.IGNORECASE)
_CAMEL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VOWEL = re.compile("[aeiouy]")
_CYRILLIC = re.compile("^[\u0400-\u04ff]+$")
# The longest first.
_CYRILLIC_ENDINGS = tuple(
    "ами ями ого его ому ему ыми ими ов ев ей ах ях ом ем ам ям ой ый ий ая яя ое ее ые ие ых их"
    " ую юю а я ы и у ю е о ь й".split()
)


def words(text: str) -> list[str]:
    """The tokens of a record or a query, in order, stop words included."""
    found: list[str] = []
    for chunk in text.split():
        found += _tokens(chunk)
    return found


def significant(text: str) -> list[str]:
    """The distinct tokens of a query without stop words."""
    return [w for w in dict.fromkeys(words(text)) if w not in STOP]


def index_text(text: str) -> str:
    """The tokens for the full-text index, a space between.

    A dense run also gives its last character, so that a query of one character finds it.
    """
    return " ".join(map(_MEMO.__getitem__, text.split()))


def plain_words(text: str) -> list[str]:
    """The words of ASCII letters and digits of a text in lower case, cut but with their endings."""
    return [word.lower() for chunk in text.split() for word in _ascii_words(chunk)]


def is_dense(token: str) -> bool:
    """Whether a token is of a script that is cut into pairs of characters."""
    return _dense().match(token) is not None


def forget_memo() -> None:
    """Give the memory of the memoised chunks back after an index run."""
    _MEMO.clear()


class _Memo(dict[str, str]):
    """White-space separated chunks to their tokens; bounded, since transcripts hold anything."""

    def __missing__(self, chunk: str) -> str:
        if len(chunk) > MEMO_CHUNK_CHARS:
            return _line(chunk)
        if chunk.isalpha() and chunk.islower() and chunk.isascii():
            line = stem_of(chunk)
        else:
            bare = chunk.strip(_PUNCTUATION)
            line = self[bare] if bare != chunk else _line(chunk)
        if len(self) >= MEMO_CHUNKS:
            self.clear()
        self[chunk] = line
        return line


def _line(chunk: str) -> str:
    if chunk.isascii():
        return " ".join(_tokens(chunk))
    return " ".join(_other_tokens(normal_form("NFKC", chunk), with_last=True))


_MEMO = _Memo()


# Compiling these takes some milliseconds, which a hook's first answer need not wait for.
@cache
def _spaced() -> re.Pattern[str]:
    return re.compile(f"[{_EMOJI}]|[{_DENSE}]+|(?:(?![{_DENSE}])[^\\W_]|[{_MARKS}])+")


@cache
def _dense() -> re.Pattern[str]:
    return re.compile(f"[{_DENSE}]")


def _tokens(chunk: str) -> list[str]:
    if chunk.isascii():
        return [stem_of(w.lower()[:TOKEN_CHARS]) for w in _ascii_words(chunk)]
    return _other_tokens(normal_form("NFKC", chunk))


def _ascii_words(chunk: str) -> list[str]:
    if "'" in chunk:
        chunk = _POSSESSIVE.sub(" ", chunk)
    if not chunk.islower():
        chunk = _CAMEL.sub(" ", chunk)
    return _ASCII_WORD.findall(chunk)


def _other_tokens(chunk: str, *, with_last: bool = False) -> list[str]:
    """The tokens; after each dense run its last character too, if asked for."""
    found: list[str] = []
    dense = _dense()
    for run in _spaced().findall(_CAMEL.sub(" ", _POSSESSIVE.sub(" ", chunk))):
        if dense.match(run):
            found += map(str.__add__, run, run[1:])
            if with_last or len(run) == 1:
                found.append(run[-1])
        else:
            found.append(stem_of(_fold(run)[:TOKEN_CHARS]))
    return found


def _fold(word: str) -> str:
    """Fold case, and accents over Latin letters: a person types cafe for café."""
    word = word.casefold().replace("i\u0307", "i")  # what becomes of the Turkish capital
    if word.isascii():
        return word
    letters = [unicodedata.normalize("NFD", c) for c in word]
    return "".join(
        parts[0] if parts[0].isascii() else c for c, parts in zip(word, letters, strict=True)
    )


def stem_of(word: str) -> str:
    """What the index makes of one word in lower case."""
    if len(word) < 4:
        return word
    if word.isascii():
        return _stem_latin(word) if word[-1] in "sgde" and word.isalpha() else word
    if _CYRILLIC.match(word):
        for ending in _CYRILLIC_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                return word[: -len(ending)]
    return word


def _stem_latin(word: str) -> str:
    """Plural, -ed and -ing off; a last silent e too, so that decide and decided meet."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word[-1] == "s" and word[-2] not in "sui":
        word = word[:-1]
    ending = 3 if word.endswith("ing") else 2 if word.endswith("ed") else 0
    rest = word[:-ending]
    if ending and len(rest) >= 3 and _VOWEL.search(rest):
        if rest[-1] == rest[-2] and rest[-1] not in "lsz":
            return rest[:-1]
        word = rest
    return word[:-1] if word[-1] == "e" and len(word) > 3 else word
