"""Private spans: what stands between `<private>` and `</private>` is not kept (R-176)."""

import re

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
    low = text.lower()
    if "private" not in low and _WIDE not in low:
        return text, ()
    tags = compiled(_TAG, re.IGNORECASE)
    visible, inner, depth, start, at = [], [], 0, 0, 0
    for count, tag in enumerate(tags.finditer(text)):
        if count == MOST_TAGS:
            if not depth:
                visible.append(text[at : tag.start()] + PRIVATE_MARK)
                start, depth = tag.start(), 1
            break
        if not tag["slash"]:
            if not depth:
                visible.append(text[at : tag.start()] + PRIVATE_MARK)
                start = tag.end()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                inner.append(text[start : tag.start()])
                at = tag.end()
    if depth:
        inner.append(text[start:])
    else:
        visible.append(text[at:])
    spans = (tags.sub(" ", span, MOST_TAGS).strip() for span in inner)
    return "".join(visible), tuple(span for span in spans if span)


_OPEN = r"(?:[<\uff1c\ufe64]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\u\{3c\}|\\x3c|%3c)"
_CLOSE = r"(?:[>\uff1e\ufe65]|&(?:amp;)*(?:gt|#0*62|#x0*3e);?|\\u003e|\\u\{3e\}|\\x3e|%3e)"
_WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "private")
# It never fails once the word is there and stops at the next bracket: linear on any text.
_TAG = (
    rf"{_OPEN}\s{{0,8}}(?:(?P<slash>[/\uff0f])\s{{0,8}})?(?:private|{_WIDE})(?![\w.:-])"
    rf"[^<>\uff1c\uff1e]*?(?:{_CLOSE}|\Z|(?={_OPEN}))"
)
