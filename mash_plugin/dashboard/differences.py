"""What changed from one revision of a record to the next, word by word."""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from mash_plugin.dashboard import labels

Json = Mapping[str, Any]
WORD_SETS = {"state": labels.STATES, "review": labels.REVIEWS, "decided_by": labels.DECIDERS}


class Piece(NamedTuple):
    """A stretch of words that stayed, came or went."""

    kind: Literal["same", "added", "removed"]
    text: str


class Changed(NamedTuple):
    """A field that has another value."""

    name: str
    before: str
    after: str


def pieces(before: str, after: str) -> list[Piece]:
    """The new wording with what came and what went, in reading order."""
    old, new = _words(before), _words(after)
    found: list[Piece] = []
    # Without its heuristic for frequent words, "a b a b ..." takes many seconds.
    for kind, i, j, k, m in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            found.append(Piece("same", "".join(new[k:m])))
            continue
        if i < j:
            found.append(Piece("removed", "".join(old[i:j])))
        if k < m:
            found.append(Piece("added", "".join(new[k:m])))
    return found


def fields(before: Json, after: Json) -> Iterator[Changed]:
    """Every other field of a body that was changed."""
    old = {
        "review": before["review"],
        **before["details"],
        "effective_at": before.get("effective_at"),
    }
    new = {"review": after["review"], **after["details"], "effective_at": after.get("effective_at")}
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Changed(name.replace("_", " "), _told(name, old), _told(name, new))


def _told(name: str, body: Json) -> str:
    value = body.get(name)
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return "; ".join(value)
    if name in ("effective_at", "valid_until"):
        from mash_plugin.render.text import local_date

        return local_date(value)
    return WORD_SETS.get(name, {}).get(value, str(value))


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)
