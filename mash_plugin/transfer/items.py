"""What another tool remembers, as the readers of its files hand it over."""

from collections import Counter
from typing import NamedTuple

from mash_plugin.privacy.spans import PRIVATE_MARK, split_private
from mash_plugin.records.model import Kind

STATEMENT_CHARS = 2_000
MOST = 1_000
"""Of one import: who has more looks at them in parts."""


class Source(NamedTuple):
    """One text that items are quoted from."""

    name: str
    """Names it among those of its import: a file, or the number of an observation."""
    text: str
    """Without private spans."""


class Item(NamedTuple):
    """One thing to remember, in the words of its source."""

    kind: Kind
    statement: str
    quote: str
    """Stands so in the text of its source."""
    source: Source


class Found(NamedTuple):
    """The items of some files, and how many things were left out by reason."""

    items: list[Item]
    left_out: Counter[str]


def add(found: Found, kind: Kind, quote: str, source: Source, statement: str | None = None) -> None:
    """Add an item, unless it is private, empty, too long, or one too many."""
    said = " ".join((statement or quote).split())
    if PRIVATE_MARK in quote or PRIVATE_MARK in said:
        found.left_out["with private text"] += 1
    elif len(said) > STATEMENT_CHARS or len(quote) > 2 * STATEMENT_CHARS:
        found.left_out[f"over {STATEMENT_CHARS} characters"] += 1
    elif len(found.items) == MOST:
        found.left_out[f"beyond the first {MOST}"] += 1
    elif said:
        found.items.append(Item(kind, said, quote, source))


def is_text(text: str) -> bool:
    """Whether it is UTF-8: names of files may hold other bytes, which no store takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    """The text without its private spans."""
    return split_private(text)[0]
