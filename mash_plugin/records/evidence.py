"""Does this quote stand in that text, is a citation still fresh (R-025)?"""

import re
import unicodedata
from collections.abc import Sequence

from mash_plugin.normal_form import normal_form, parts
from mash_plugin.records.model import Author, Evidence, EvidenceStatus, Role

KEPT_CHARS = 8_000
"""A cited message may be megabytes long; recall reads what is kept with every record."""

_WORD = re.compile(r"\S+")
_PERSONS = ("person", "inferred")
_SAME = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x31FF),  # CJK radicals, kana, bopomofo, compatibility letters
    (0x3400, 0x9FFF),  # CJK ideographs
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul syllables: particles follow without a space
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),  # half-width kana and Hangul
    (0x1B000, 0x1B2FF),
    (0x20000, 0x3FFFF),
)


def fold(text: str) -> str:
    """The text as quotes are compared: NFC, white space, quotation marks and dashes folded."""
    if not text.isascii():
        text = normal_form("NFC", text).translate(_SAME)
    return " ".join(text.split())


def quote_occurs_in(quote: str, text: str) -> bool:
    """Whether the quote stands in the text, no word cut at its ends."""
    return find_folded(fold(quote), fold(text)) is not None


def find_quote(quote: str, text: str) -> str | None:
    """The source's own characters of the quote, or None where it does not stand in the text."""
    folded_quote, folded_text = fold(quote), fold(text)
    start = find_folded(folded_quote, folded_text)
    if start is None:
        return None
    return text[_source_span(text, start, start + len(folded_quote) - 1)]


def find_folded(quote: str, text: str, start: int = 0) -> int | None:
    """Where a folded quote stands in a folded text from there on, no word cut at its ends."""
    if not quote:
        return None
    start = text.find(quote, start)
    while start != -1:
        if not (_cuts_word(text, start) or _cuts_word(text, start + len(quote))):
            return start
        start += 1
        while _cuts_word(text, start):  # or a long run of one letter is searched for ever
            start += 1
        start = text.find(quote, start)
    return None


def is_spaced(character: str) -> bool:
    """Whether it belongs to a word of a script that is written with spaces."""
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return False
    code = ord(character)
    return code < 0x0E00 or not any(low <= code <= high for low, high in _UNSPACED)


def kept_text(quote: str, text: str) -> str:
    """The message as it stays with the evidence: whole, or what stands around the quote."""
    if len(text) <= KEPT_CHARS:
        return text
    start = max(0, text.find(quote) - (KEPT_CHARS - len(quote)) // 2)
    return text[start : start + KEPT_CHARS]


def status_of(evidence: Evidence, text: str | None, role: Role, author: Author) -> EvidenceStatus:
    """What the newest index of its chat says about a citation; `text` None: no such message."""
    if text is None:
        return "missing"
    if role == "unknown" or _is_unmarked(evidence):
        return "role_unknown"
    if role != evidence.role or (author == "agent") != (evidence.author == "agent"):
        return "role_changed"
    if evidence.author in _PERSONS and author not in _PERSONS:
        return "role_unknown" if author == "unknown" else "role_changed"
    return "matching" if quote_occurs_in(evidence.quote, text) else "changed"


def status_without_source(evidence: Evidence) -> EvidenceStatus:
    """Its state while no index of its chat is at hand: as it was, but for older rows (R-024)."""
    return "role_unknown" if _is_unmarked(evidence) else evidence.status


def is_fresh(evidence: Evidence) -> bool:
    """Whether a record may rest on the citation as it stands."""
    return evidence.status in ("matching", "unindexed") and not _is_unmarked(evidence)


def is_stale(cited: Sequence[Evidence]) -> bool:
    """Whether one of the quotes that a wording was saved with has changed since (R-025)."""
    return not all(is_fresh(e) for e in cited if e.added_by == "revision")


def _is_unmarked(evidence: Evidence) -> bool:
    return "unknown" in (evidence.role, evidence.purpose)


def _cuts_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    if unicodedata.combining(text[at]):  # a letter and its marks are one, in every script
        return True
    return is_spaced(text[at - 1]) and is_spaced(text[at])


def _source_span(text: str, first: int, last: int) -> slice:
    """Where characters of the folded text, none of them a space, lie in the source.

    Word by word: a message can be megabytes long, and NFC joins nothing over white space.
    """
    is_composed = normal_form("NFC", text) == text
    begin = at = 0
    for word in _WORD.finditer(text):
        own: Sequence[int] = range(word.end() - word.start() + 1)
        if not is_composed:
            own = _source_offsets(word[0])
        if at <= first < at + len(own):
            begin = word.start() + own[first - at]
        if last < at + len(own) - 1:
            end = last - at + 1
            while own[end] == own[end - 1]:  # one character of the source can be two in NFC
                end += 1
            return slice(begin, word.start() + own[end])
        at += len(own)
    raise AssertionError("a folded text has the words of its source")


def _source_offsets(word: str) -> list[int]:
    """For each index of the word in NFC, and its end, the index in the source."""
    offsets: list[int] = []
    at = 0
    for part in parts(word):
        for start, segment in _segments(part):
            offsets += [at + start] * len(unicodedata.normalize("NFC", segment))
        at += len(part)
    return [*offsets, len(word)]


def _segments(text: str) -> list[tuple[int, str]]:
    """Pieces that compose on their own, with their start: one character each in NFC text."""
    if unicodedata.is_normalized("NFC", text):
        return list(enumerate(text))
    pieces: list[tuple[int, str]] = []
    for at, character in enumerate(text):
        if pieces and not _stands_alone(pieces[-1][1], character):
            start, piece = pieces[-1]
            pieces[-1] = (start, piece + character)
        else:
            pieces.append((at, character))
    return pieces


def _stands_alone(before: str, character: str) -> bool:
    if unicodedata.combining(unicodedata.normalize("NFD", character)[0]):
        return False
    joined = unicodedata.normalize("NFC", before + character)
    apart = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", character)
    return joined == apart
