"""Add and remove single members of a JSON text, every other byte kept.

Claude Code rewrites the whole settings file for one entry: keys reordered, indentation
changed (seen in 2.1.332). A person's own layout survives only if the text is edited.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_decoder = json.JSONDecoder()
_space = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    value_start: int
    end: int


def insert(text: str, path: Sequence[str], value: Any) -> str:  # noqa: ANN401 - JSON
    """Add the member at `path` as the last of its object; its parents are added when missing."""
    at = _skip(text, 0)
    for depth, key in enumerate(path):
        members = _members(text, at)
        found = next((m for m in members if m.key == key), None)
        if found is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _append(text, at, members, key, value)
        at = found.value_start
    raise ValueError(f"{'.'.join(path)} is already there")


def remove(text: str, path: Sequence[str]) -> str:
    """Take the member at `path` out; the exact inverse of `insert`. Absent: unchanged."""
    at = _skip(text, 0)
    for depth, key in enumerate(path):
        if not text.startswith("{", at):
            return text
        members = _members(text, at)
        index = next((i for i, m in enumerate(members) if m.key == key), None)
        if index is None:
            return text
        if depth == len(path) - 1:
            return _cut(text, members, index)
        at = members[index].value_start
    return text


def append_item(text: str, path: Sequence[str], item: str) -> str:
    """Add the text as the last item of the list at `path`, which is added when missing."""
    at = _find(text, path)
    if at is None:
        return insert(text, path, [item])
    shown = json.dumps(item, ensure_ascii=False)
    items = _items(text, at)
    if not items:
        return f"{text[: at + 1]}{shown}{text[at + 1 :]}"
    start, end = items[-1]
    gap = text[len(text[:start].rstrip(" \t\r\n")) : start]
    if len(items) == 1 and "\n" not in gap:
        gap = " "
    return f"{text[:end]},{gap}{shown}{text[end:]}"


def remove_item(text: str, path: Sequence[str], item: str) -> str:
    """Take the text out of the list at `path`; the exact inverse of `append_item`."""
    at = _find(text, path)
    if at is None or not text.startswith("[", at):
        return text
    items = _items(text, at)
    found = next((i for i, (a, b) in enumerate(items) if json.loads(text[a:b]) == item), None)
    if found is None:
        return text
    start, end = items[found]
    if found > 0:
        return text[: items[found - 1][1]] + text[end:]
    return text[:start] + text[items[1][0] if len(items) > 1 else end :]


def _find(text: str, path: Sequence[str]) -> int | None:
    """Where the value at `path` begins."""
    at = _skip(text, 0)
    for key in path:
        if not text.startswith("{", at):
            return None
        member = next((m for m in _members(text, at) if m.key == key), None)
        if member is None:
            return None
        at = member.value_start
    return at


def _items(text: str, at: int) -> list[tuple[int, int]]:
    """Where each item of the list begins and ends."""
    if not text.startswith("[", at):
        raise ValueError("not a list")
    items = []
    position = _skip(text, at + 1)
    while not text.startswith("]", position):
        _, end = _decoder.raw_decode(text, position)
        items.append((position, end))
        position = _skip(text, end)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
    return items


def _append(text: str, at: int, members: list[_Member], key: str, value: Any) -> str:  # noqa: ANN401
    if not members:
        shown = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{text[: at + 1]}{shown}{text[at + 1 :]}"
    last = members[-1]
    gap = text[len(text[: last.start].rstrip(" \t\r\n")) : last.start]
    newline = gap.rfind("\n")
    if newline < 0:
        shown = json.dumps(value, ensure_ascii=False)
    else:
        indent = gap[newline + 1 :]
        shown = json.dumps(value, ensure_ascii=False, indent=indent or 2)
        shown = shown.replace("\n", ("\r\n" if "\r\n" in gap else "\n") + indent)
    return f"{text[: last.end]},{gap}{json.dumps(key)}: {shown}{text[last.end :]}"


def _cut(text: str, members: list[_Member], index: int) -> str:
    if index > 0:
        return text[: members[index - 1].end] + text[members[index].end :]
    following = members[1].start if len(members) > 1 else members[0].end
    return text[: members[0].start] + text[following:]


def _members(text: str, at: int) -> list[_Member]:
    if not text.startswith("{", at):
        raise ValueError("not an object")
    members = []
    position = _skip(text, at + 1)
    while not text.startswith("}", position):
        start = position
        key, position = _decoder.raw_decode(text, start)
        value_start = _skip(text, _skip(text, position) + 1)
        _, end = _decoder.raw_decode(text, value_start)
        members.append(_Member(str(key), start, value_start, end))
        position = _skip(text, end)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
    return members


def _skip(text: str, position: int) -> int:
    found = _space.match(text, position)
    return found.end() if found else position
