"""What must not be kept, shown or taken for the person's: private spans, credentials, pastes."""

import re
from functools import cache

from mash_plugin.credentials import mask

PRIVATE_MARK = "[private]"
"""Stands where a span was, so that no quote can join the words on its two sides."""
MOST_TAGS = 2_000
GAP = "\n\ufffc\n"
"""Stands where quoted or pasted text was, for the same reason."""


def split_private(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without its private spans, and what stood inside them.

    Nested spans count as one; an unclosed one runs to the end. Give the joined text of all
    blocks of a message, so that a span split over blocks is seen whole. Behind MOST_TAGS tags
    all is private: nobody writes so many, and each takes its time.
    """
    low = text.lower()
    if "private" not in low and _WIDE not in low:
        return text, ()
    tags = _pattern(_TAG, re.IGNORECASE)
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


def persons_own(text: str) -> str:
    """What the person wrote in their own words: no fenced code, quoted lines or pasted text.

    A paste ends at the last closing tag with its own ID, or else at the last of all: pasted
    text may hold closing tags too, with words behind them that would pass for the person's.
    """
    if "<" in text:
        text = _without_pastes(text)
    if "`" in text or "~" in text or ">" in text or "\uff1e" in text:
        text = _without_quoted_lines(text)
    return text.strip(" \t\r\n\ufffc")


def cut_title(text: str, limit: int) -> str:
    """At most `limit` characters, and no half of a word that may be a credential."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    if "!" <= text[limit] <= "~":
        whole = _pattern(r"[!-~]+\Z").sub("", cut)
        cut = whole if whole.strip() else mask(text)[:limit]
    return cut.rstrip()


_OPEN = r"(?:[<\uff1c\ufe64]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\u\{3c\}|\\x3c|%3c)"
_CLOSE = r"(?:[>\uff1e\ufe65]|&(?:amp;)*(?:gt|#0*62|#x0*3e);?|\\u003e|\\u\{3e\}|\\x3e|%3e)"
_WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "private")
# It never fails once the word is there and stops at the next bracket: linear on any text.
_TAG = (
    rf"{_OPEN}\s{{0,8}}(?:(?P<slash>[/\uff0f])\s{{0,8}})?(?:private|{_WIDE})(?![\w.:-])"
    rf"[^<>\uff1c\uff1e]*?(?:{_CLOSE}|\Z|(?=[<\uff1c]))"
)
_PASTE = r"(?P<name>pasted_content|system-reminder|ide_\w{1,40})\b"
_PASTE_ID = r'id="(?P<id>[^"<>]{1,64})">'
_PASTE_OPENED = rf"<pasted_content {_PASTE_ID}|<\s{{0,8}}{_PASTE}"
# Claude Code closes a paste with its own ID again, which pasted text cannot know (2.1.332).
_PASTE_CLOSED = rf"<\s{{0,8}}/\s{{0,8}}{_PASTE}(?: {_PASTE_ID}|[^<>]*>)"
_LINE_END = "\r\n|[\n\r\v\f\x85\u2028\u2029]"
# Pastes come with marks of lists, and with what cannot be seen, before their own.
_LEAD = r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*(?:(?:[-*+\u2022]|\d{1,4}[.)])\s+)?"
_QUOTED = rf"{_LEAD}[>\uff1e]"
_FENCE = rf"{_LEAD}(`{{3,}}|~{{3,}})"
_BACKTICKS = r"`{3,}"


@cache
def _pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: all of them take 6 ms, and a session start needs none."""
    return re.compile(pattern, flags)


def _without_pastes(text: str) -> str:
    """Each paste cut out, from tables of the last closing tags: one reading of the text."""
    last: dict[str, int] = {}
    for tag in _pattern(_PASTE_CLOSED, re.IGNORECASE).finditer(text):
        last[tag["name"].lower()] = tag.end()
        if tag["id"]:
            last[_by_id(tag["id"])] = tag.end()
    kept, at = [], 0
    for tag in _pattern(_PASTE_OPENED, re.IGNORECASE).finditer(text):
        if tag.start() < at:
            continue
        names = [_by_id(tag["id"]), "pasted_content"] if tag["id"] else [tag["name"].lower()]
        ends = (last.get(name, 0) for name in names)
        kept.append(text[at : tag.start()])
        at = next((end for end in ends if end > tag.end()), len(text))
    return GAP.join([*kept, text[at:]])


def _by_id(name: str) -> str:
    return f'id="{name.lower()}"'


def _without_quoted_lines(text: str) -> str:
    fences, quoted = _pattern(_FENCE), _pattern(_QUOTED)
    kept: list[str] = []
    fence = ""
    for line in _pattern(_LINE_END).split(text):
        if fence:
            mark = fences.match(line)
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip(" \t`~"):
                fence = ""
            continue
        own = "\ufffc"
        if not quoted.match(line):
            own, fence = _before_fence(line)
        if own != "\ufffc" or kept[-1:] != [own]:
            kept.append(own)
    return "\n".join(kept)


def _before_fence(line: str) -> tuple[str, str]:
    """The person's part of a line, and the fence that it leaves open."""
    mark = _pattern(_FENCE).match(line)
    if mark and mark[1][0] == "~":
        return "\ufffc", mark[1]
    if "```" not in line:
        return line, ""
    own, at, fence = "", 0, ""
    for run in _pattern(_BACKTICKS).finditer(line):
        if not fence:
            own += line[at : run.start()] + "\ufffc"
            fence = run[0]
        elif run[0] == fence:
            at, fence = run.end(), ""
    own = own if fence else own + line[at:]
    return (own if own.strip(" \t\ufffc") else "\ufffc"), fence
