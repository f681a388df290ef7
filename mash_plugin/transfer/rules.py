"""The rules in a CLAUDE.md or AGENTS.md: its list items and short paragraphs, as preferences.

Headings, tables, quotations, comments, imports (`@file`) and code say nothing by themselves and
are passed over. A list item takes the lines that continue it, but not the list inside it.
"""

import re
from collections import Counter

from mash_plugin.privacy.spans import PRIVATE_MARK
from mash_plugin.transfer.items import Found, Source, add, visible

LEAST_WORDS = 2
PARAGRAPH_LINES = 3
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_PASSED_OVER = re.compile(r"[ \t]*(?:#|\||>|@\S+$|---+$|\*\*\*+$|===+$)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def read_rules(name: str, text: str) -> Found:
    """The rules of one file."""
    source = Source(name, visible(text))
    found = Found([], Counter())
    for lines, is_item in _blocks(_COMMENT.sub(_blank, source.text)):
        quote = "\n".join(lines).strip()
        if is_item:
            quote = _ITEM.sub("", quote, count=1)
        elif len(lines) > PARAGRAPH_LINES:
            found.left_out["paragraphs of more than three lines"] += 1
            continue
        if len(quote.split()) >= LEAST_WORDS or PRIVATE_MARK in quote:
            add(found, "preference", quote, source)
    return found


def _blank(match: re.Match[str]) -> str:
    return "".join("\n" if c == "\n" else " " for c in match[0])


def _blocks(text: str) -> list[tuple[list[str], bool]]:
    """Runs of lines that belong together, and whether each is an item of a list."""
    blocks: list[tuple[list[str], bool]] = []
    fence, is_open = "", False
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence or match:
            if not fence and match:
                fence = match[1]
            elif match and match[1].startswith(fence):
                fence = ""
            is_open = False
        elif not line.strip() or _PASSED_OVER.match(line):
            is_open = False
        elif _ITEM.match(line):
            blocks.append(([line], True))
            is_open = True
        elif is_open:
            blocks[-1][0].append(line)
        else:
            blocks.append(([line], False))
            is_open = True
    return blocks
