"""What the person wrote in their own words, and what they only pasted or quoted."""

import re

from mash_plugin.privacy.patterns import compiled

GAP = "\n\ufffc\n"
"""Stands where quoted or pasted text was, so that no quote can join the words on its two sides."""


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


def _without_pastes(text: str) -> str:
    """Each paste cut out, from tables of the last closing tags: one reading of the text."""
    last: dict[str, int] = {}
    for tag in compiled(_PASTE_CLOSED, re.IGNORECASE).finditer(text):
        last[tag["name"].lower()] = tag.end()
        if tag["id"]:
            last[_by_id(tag["id"])] = tag.end()
    kept, at = [], 0
    for tag in compiled(_PASTE_OPENED, re.IGNORECASE).finditer(text):
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
    fences, quoted = compiled(_FENCE), compiled(_QUOTED)
    kept: list[str] = []
    fence = ""
    for line in compiled(_LINE_END).split(text):
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
    mark = compiled(_FENCE).match(line)
    if mark and mark[1][0] == "~":
        return "\ufffc", mark[1]
    if "```" not in line:
        return line, ""
    own, at, fence = "", 0, ""
    for run in compiled(_BACKTICKS).finditer(line):
        if not fence:
            own += line[at : run.start()] + "\ufffc"
            fence = run[0]
        elif run[0] == fence:
            at, fence = run.end(), ""
    own = own if fence else own + line[at:]
    return (own if own.strip(" \t\ufffc") else "\ufffc"), fence
