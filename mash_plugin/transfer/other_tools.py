"""Read what another tool remembers: where it keeps it, and what of it could become records."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument, TooLarge, plain_reason
from mash_plugin.memory.call import Call
from mash_plugin.records.model import Scope
from mash_plugin.transfer.claude_mem import read_observations
from mash_plugin.transfer.claude_memory import read_memory
from mash_plugin.transfer.files import opened
from mash_plugin.transfer.items import Found
from mash_plugin.transfer.places import scope_of_place
from mash_plugin.transfer.rules import read_rules

LABELS = {
    "claude-memory": "Claude Code's auto memory",
    "rules": "a file of rules",
    "claude-mem": "claude-mem",
}
FILE_BYTES = 4 << 20
EXPORT_BYTES = 64 << 20
MOST_FILES = 400


class Wanted(NamedTuple):
    """One import: from where, for which scope, and what it would save."""

    source: str
    path: str
    scope: Scope
    found: Found
    content: bytes

    @property
    def title(self) -> str:
        """How its chat is listed."""
        name = os.path.basename(self.path.rstrip("/"))
        return f"Import of {_plain(name) or self.source}"


def read_wanted(call: Call, source: str, path: str, scope: Scope | None) -> Wanted:
    """What the files at the path hold. Raises InvalidArgument or TooLarge: nothing is imported."""
    if source not in LABELS:
        raise InvalidArgument(f"source: one of {', '.join(LABELS)}, not {source[:50]!r}.")
    scope = scope or scope_of_place(call, source, path)
    match source:
        case "claude-memory":
            files = list(_memory_files(path))
            content = b"\0".join(f"{name}\0{text}".encode() for name, text in files)
            found = read_memory(files)
        case "rules":
            content = _bytes_of(path, FILE_BYTES)
            found = read_rules(_plain(os.path.basename(path)), _text(path, content))
        case _:
            content = _bytes_of(path, EXPORT_BYTES)
            name = None if scope.kind == "personal" else os.path.basename(scope.value)
            found = read_observations(content, name)
    return Wanted(source, path, scope, found, content)


def _memory_files(folder: str) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError as error:
        raise InvalidArgument(
            f"{folder} is no folder that can be read ({plain_reason(error)})."
        ) from error
    if len(names) > MOST_FILES:
        raise TooLarge(f"{folder} holds {len(names)} files; at most {MOST_FILES} are taken in.")
    for name in names:
        path = os.path.join(folder, name)
        yield _plain(name), _text(path, _bytes_of(path, FILE_BYTES))


def _bytes_of(path: str, most: int) -> bytes:
    with opened(path, "import") as file:
        try:
            data = file.read(most + 1)
        except OSError as error:
            raise InvalidArgument(
                f"{path} cannot be read ({plain_reason(error)}). Nothing was imported."
            ) from error
    if len(data) > most:
        raise TooLarge(f"{path} has more than {most} bytes. Nothing was imported.")
    return data


def _text(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"{path} is no text in UTF-8 (byte {error.start}): save it as such, or name another"
            " file. Nothing was imported."
        ) from error
    if "\0" in text:
        raise InvalidArgument(f"{path} is no text. Nothing was imported.")
    return text.replace("\r\n", "\n")


def _plain(name: str) -> str:
    """The name of a file without bytes that are no UTF-8."""
    return name.encode("utf-8", "replace").decode()
