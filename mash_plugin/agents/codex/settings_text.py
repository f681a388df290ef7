"""The text of Codex's `config.toml` without our tables; every other line is kept."""

import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from mash_plugin.agents.plugin import MARKETPLACE, PLUGIN_ID


def without_tables(text: str, is_unwanted: Callable[[tuple[str, ...]], bool]) -> str:
    """The TOML text without the tables whose dotted names are unwanted; other lines are kept."""
    kept: list[str] = []
    tail: list[str] = []
    is_dropping = False
    for line in text.splitlines(keepends=True):
        header = _header(line)
        if header is not None:
            was_dropping, is_dropping = is_dropping, is_unwanted(header)
            if is_dropping and not was_dropping and kept and not kept[-1].strip():
                kept.pop()  # the blank line before our table came with it
            if was_dropping:
                kept += _left_of(tail) or _blank_line(kept, is_needed=not is_dropping)
                tail.clear()
        if not is_dropping:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            tail.clear()
        else:
            tail.append(line)
    return "".join(kept + _left_of(tail))


def is_ours(header: tuple[str, ...]) -> bool:
    """Whether a table is one that `install`, or trust in our hooks, brought."""
    match header:
        case ("marketplaces", name):
            return name == MARKETPLACE
        case ("plugins", name, *_):
            return name == PLUGIN_ID
        case ("hooks", "state", name):
            return name.startswith(f"{PLUGIN_ID}:")
        case _:
            return False


def former_texts(rest: str) -> Iterator[str]:
    """What the text may have been before Codex wrote to it; a hash tells which it was.

    Codex ends a file with a newline that had none, begins an empty one with one, writes LF for
    CRLF, and drops an empty `plugins = {}` (seen in 0.171.0).
    """
    rest = rest.replace("\r\n", "\n")
    bare = rest.rstrip("\n")
    shapes = [rest, bare + "\n", bare, rest.lstrip("\n"), bare.lstrip("\n")]
    lines = rest.splitlines(keepends=True)
    shapes += [
        "".join([*lines[:number], f"{name} = {{}}\n", *lines[number:]])
        for name in ("plugins", "marketplaces")
        for number in range(len(lines) + 1)
    ]
    for shape in shapes:
        yield shape
        yield shape.replace("\n", "\r\n")


def _left_of(tail: list[str]) -> list[str]:
    """Comments that stood after our last table belong to what follows."""
    return list(tail) if any(line.strip() for line in tail) else []


def _blank_line(kept: list[str], *, is_needed: bool) -> list[str]:
    return ["\n"] if is_needed and kept and kept[-1].strip() else []


def _header(line: str) -> tuple[str, ...] | None:
    """The dotted name of a `[table]` or `[[table]]` line, or None for any other line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        table: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    names = []
    while isinstance(table, dict) and table:
        (name,) = table
        names.append(str(name))
        table = table[name]
    return tuple(names)
