"""Claude Code's auto memory: `projects/NAME/memory/*.md`, as Claude Code 2.1.332 keeps it.

Each file begins with front matter of `name`, `description` and `metadata` with a `type`: user,
feedback, project or reference (older versions: `type` without `metadata`). The text after it
gives the rule or fact in its first paragraph; `**Why:**` and `**How to apply:**` follow. MEMORY.md
is an index of links to these files; lines of it that are no links are notes of older versions.
"""

import re
from collections import Counter
from collections.abc import Iterable

from mash_plugin.records.model import Kind
from mash_plugin.transfer.items import Found, Source, add, visible
from mash_plugin.transfer.rules import read_rules

INDEX = "MEMORY.md"
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_TYPE = re.compile(r"^[ \t]*type:[ \t]*[\"']?(\w+)", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\([^)]*\.md\)|\[\[[^\]]*\]\]")
_PREFERENCES = ("user", "feedback")


def read_memory(files: Iterable[tuple[str, str]]) -> Found:
    """What the files of one folder hold, by name and text."""
    found = Found([], Counter())
    for name, text in files:
        if name == INDEX:
            _read_index(found, name, text)
        else:
            _read_file(found, name, text)
    return found


def _read_index(found: Found, name: str, text: str) -> None:
    notes = read_rules(name, text)
    for item in notes.items:
        if _LINK.search(item.quote):
            continue
        add(found, item.kind, item.quote, item.source)
    found.left_out.update(notes.left_out)


def _read_file(found: Found, name: str, text: str) -> None:
    source = Source(name, visible(text))
    front = _FRONT.match(source.text)
    body = source.text[front.end() :] if front else source.text
    stated = _TYPE.search(front[1]) if front else None
    kind: Kind = "preference" if stated and stated[1] in _PREFERENCES else "fact"
    paragraphs = (part.strip() for part in re.split(r"\n[ \t]*\r?\n", body))
    first = next((p for p in paragraphs if p and not p.startswith("#")), "")
    if first:
        add(found, kind, first, source)
    else:
        found.left_out["without text"] += 1
