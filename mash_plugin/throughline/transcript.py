"""Read a session's transcript: JSON Lines with roles, or a plain log; in bounded memory."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal, NamedTuple

import orjson

from mash_plugin.errors import InvalidArgument

MAX_LINE = 4 << 20
"""A longer line is skipped and counted as malformed; memory stays under 64 MB."""
BLOCK = 1 << 20
AGENT_ROLES = frozenset({"assistant", "agent"})
MACHINE_ROLES = frozenset({"tool", "function", "system", "developer"})
"""Written by no person; every role that is neither one of these nor the agent's may be one."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
Author = Literal["agent", "person", "machine"]


class Message(NamedTuple):
    """One message of a transcript; `at` is the given time, if it can be read."""

    author: Author
    text: str
    at: datetime | None


Unread = Callable[[bytes], None]


def read_messages(file: BinaryIO, on_malformed: Unread) -> Iterator[Message]:
    """The messages in their order; what is none goes to `on_malformed`. Raises InvalidArgument."""
    for line in _lines(file, _size(file)):
        if line is None:
            on_malformed(b"")
            continue
        try:
            parsed = orjson.loads(line)
        except orjson.JSONDecodeError:
            if not line.strip():
                continue
            parsed = _with_lone_surrogates(line)
        message = _message(parsed)
        if message is None:
            on_malformed(line)
        else:
            yield message


def count_lines(file: BinaryIO) -> int:
    """How many lines a plain log has, the last one with or without its end."""
    count, last, left = 0, b"\n", _size(file)
    while left > 0 and (block := file.read(BLOCK)):
        count += block.count(b"\n")
        last = block[-1:]
        left -= len(block)
    return count + (last != b"\n")


def _size(file: BinaryIO) -> float:
    """How much to read: what a file that still grows held at first, a pipe to its end."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # not a file of the system
        return float("inf")
    return found.st_size if stat.S_ISREG(found.st_mode) else float("inf")


def _lines(file: BinaryIO, left: float) -> Iterator[bytes | None]:
    """Every line that begins within so many bytes; None for one that is too long to hold."""
    first = file.readline(MAX_LINE)
    _refuse_utf16(first)
    line = first.removeprefix(_BOM)
    while line and left > 0:
        left -= len(line)
        if len(line) < MAX_LINE or line.endswith(b"\n"):
            yield line
        else:
            while line and not line.endswith(b"\n"):
                line = file.readline(BLOCK)
                left -= len(line)
            yield None
        line = file.readline(MAX_LINE)


def _refuse_utf16(start: bytes) -> None:
    if start.startswith(UTF16_MARKS) or (start[:1] == b"{" and start[1:2] == b"\0"):
        raise InvalidArgument(
            "The transcript is UTF-16, but JSON Lines are UTF-8."
            " Convert it first: iconv -f UTF-16 -t UTF-8 FILE."
        )


def _message(parsed: Any) -> Message | None:  # noqa: ANN401 - JSON
    if not isinstance(parsed, dict):
        return None
    role, content = parsed.get("role"), parsed.get("content")
    if not isinstance(role, str) or not (name := role.strip().lower()):
        return None
    if isinstance(content, list):
        content = _text_of_blocks(content)
    elif not isinstance(content, str):
        return None
    author: Author = "person"
    if name in AGENT_ROLES:
        author = "agent"
    elif name in MACHINE_ROLES:
        author = "machine"
    return Message(author, content, _time(parsed.get("ts")))


def _text_of_blocks(blocks: list[Any]) -> str:
    texts = (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is UTC:
            return moment
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _with_lone_surrogates(line: bytes) -> Any:  # noqa: ANN401 - JSON
    """What the line says if only half of a surrogate pair kept orjson from it, else None."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return None
