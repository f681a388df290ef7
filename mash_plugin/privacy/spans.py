"""Private spans: what stands between `<private>` and `</private>` is not kept (R-176)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mash_plugin.privacy.patterns import compiled

PRIVATE_MARK = "[private]"
"""Stands where a span was, so that no quote can join the words on its two sides."""
MOST_TAGS = 2_000


def split_private(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its private spans, and what stood inside them.

    Nested spans count as one; an unclosed one runs to the end. Give the joined text of all
    blocks of a message, so that a span split over blocks is seen whole. Behind MOST_TAGS tags
    all is private: nobody writes so many, and each takes its time.
    """
    if not _may_hold_a_tag(text):
        return text, ()
    tags = compiled(_TAG, re.IGNORECASE)
    visible, inner, at = [], [], 0
    for span in _spans(text):
        visible.append(text[at : span.start] + PRIVATE_MARK)
        inner.append(text[span.inner_start : span.inner_end])
        at = span.end
    visible.append(text[at:])
    cleaned = (tags.sub(" ", each, MOST_TAGS).strip() for each in inner)
    return "".join(visible), tuple(each for each in cleaned if each)


def private_lines(text: str) -> frozenset[int]:
    """The numbers of the lines, as `splitlines` counts them, that a span touches."""
    if not _may_hold_a_tag(text):
        return frozenset()
    spans = _spans(text)
    span, found, start = next(spans, None), [], 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        end = start + len(line)
        while span is not None and span.end <= start:
            span = next(spans, None)
        if span is None:
            break
        if span.start < end:
            found.append(number)
        start = end
    return frozenset(found)


class _Span(NamedTuple):
    """Where a span stands, its tags included, and where what it hides."""

    start: int
    inner_start: int
    inner_end: int
    end: int


def _spans(text: str) -> Iterator[_Span]:
    depth, start, inner_start = 0, 0, 0
    for count, tag in enumerate(compiled(_TAG, re.IGNORECASE).finditer(text)):
        if count == MOST_TAGS:
            if not depth:
                start = inner_start = tag.start()
                depth = 1
            break
        if not tag["slash"]:
            if not depth:
                start, inner_start = tag.span()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield _Span(start, inner_start, tag.start(), tag.end())
    if depth:
        yield _Span(start, inner_start, len(text), len(text))


def _may_hold_a_tag(text: str) -> bool:
    low = text.lower()
    return "private" in low or _WIDE in low


_OPEN = r"(?:[<\uff1c\ufe64]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\u\{3c\}|\\x3c|%3c)"
_CLOSE = r"(?:[>\uff1e\ufe65]|&(?:amp;)*(?:gt|#0*62|#x0*3e);?|\\u003e|\\u\{3e\}|\\x3e|%3e)"
_WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "private")
# It never fails once the word is there and stops at the next bracket: linear on any text.
_TAG = (
    rf"{_OPEN}\s{{0,8}}(?:(?P<slash>[/\uff0f])\s{{0,8}})?(?:private|{_WIDE})(?![\w.:-])"
    rf"[^<>\uff1c\uff1e]*?(?:{_CLOSE}|\Z|(?={_OPEN}))"
)
