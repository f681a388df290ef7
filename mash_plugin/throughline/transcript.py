"""Read a session's transcript: JSON Lines with roles, or a plain log; in bounded memory.

Lines are parsed many at once: a block of whole lines becomes one JSON array. A block in which
anything is no message is read again line by line.
"""

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
BLOCK = 1 << 16
"""So much and its objects stay in a processor's cache; larger blocks take longer."""
LOG_BLOCK = 1 << 20
LOOKED_AT = 8_000
"""So much of a log tells whether it is text, as git does it."""
AGENT_ROLES = frozenset({"assistant", "agent"})
MACHINE_ROLES = frozenset({"tool", "function", "system", "developer"})
"""Written by no person; every role that is neither one of these nor the agent's may be one."""
PERSONS_ROLES = frozenset({"user", "human"})
UNREAD = False
"""Stands for a time under another key than `ts`, which nobody promised to be one."""
_TIME_KEYS = frozenset({"timestamp", "time", "created_at", "createdAt", "date", "datetime"})
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
Author = Literal["agent", "person", "machine", "unknown"]
"""What an unknown role wrote is nobody's to keep: a person may have typed it."""


class Message(NamedTuple):
    """One message of a transcript; `stamp` is its time as written, if any, or UNREAD."""

    author: Author
    text: str
    stamp: object


Unread = Callable[[bytes], None]


def read_messages(file: BinaryIO, on_malformed: Unread) -> Iterator[list[Message]]:
    """The messages in their order, some at a time; what is none goes to `on_malformed`.

    Raises InvalidArgument for UTF-16.
    """
    separator = b',"%b",' % os.urandom(8).hex().encode()
    for block in _blocks(file, _size(file)):
        if block is None:
            on_malformed(b"")
            continue
        messages = _messages_at_once(block, separator)
        if messages is None:
            messages = _messages_by_line(block, on_malformed)
        yield messages


def fault_of(line: bytes) -> str:
    """Why a line is no message, without a word of it."""
    if not line:
        return f"is longer than {MAX_LINE >> 20} MB"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8 (`iconv -f GBK -t UTF-8`, for example, converts it)"
    parsed = _parsed(line)
    if not isinstance(parsed, dict):
        return "is no JSON object"
    for key in ("role", "content"):
        if key not in parsed:
            return f"has no `{key}`"
    is_named = isinstance(parsed["role"], str) and parsed["role"].strip()
    return "has a `content` that is no text" if is_named else "has a `role` that is no name"


def count_lines(file: BinaryIO) -> int:
    """How many lines a plain log has, the last one with or without its end.

    Raises InvalidArgument for what is no text.
    """
    count, last, left, is_first = 0, b"\n", _size(file), True
    while left > 0 and (block := file.read(LOG_BLOCK)):
        if is_first and b"\0" in block[:LOOKED_AT]:
            raise InvalidArgument(
                "The log is no text (a binary file, or UTF-16): it holds NUL bytes."
                " Nothing was queued."
            )
        is_first = False
        count += block.count(b"\n")
        last = block[-1:]
        left -= len(block)
    return count + (last != b"\n")


def time_of(stamp: object) -> datetime | None:
    """The time that a message gives, if it can be read."""
    if not isinstance(stamp, str):
        return None
    try:
        return in_utc(datetime.fromisoformat(stamp))
    except (ValueError, OverflowError):
        return None


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC, which one without a zone is in already. Raises OverflowError."""
    if moment.tzinfo is UTC:
        return moment
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _size(file: BinaryIO) -> float:
    """How much to read: what a file that still grows held at first, a pipe to its end."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # not a file of the system
        return float("inf")
    return found.st_size if stat.S_ISREG(found.st_mode) else float("inf")


def _blocks(file: BinaryIO, left: float) -> Iterator[bytes | None]:
    """Whole lines that begin within so many bytes; None for one that is too long to hold."""
    rest, is_first = b"", True
    while left > 0 and (read := file.read(int(min(BLOCK, left)))):
        left -= len(read)
        if is_first:
            _refuse_utf16(read)
            read, is_first = read.removeprefix(_BOM), False
        end = read.rfind(b"\n") + 1
        if end:
            yield rest + read[:end]
            rest = read[end:]
            continue
        line, passed = _whole_line(file, rest + read)
        left -= passed
        rest = b""
        yield line
    if rest:
        yield _whole_line(file, rest)[0]


def _whole_line(file: BinaryIO, start: bytes) -> tuple[bytes | None, int]:
    """The line that begins so, or None if it is too long to hold; how much more was read."""
    more = file.readline(MAX_LINE)
    passed, line = len(more), start + more
    if len(line) <= MAX_LINE:
        return line, passed
    while more and not more.endswith(b"\n"):
        more = file.readline(LOG_BLOCK)
        passed += len(more)
    return None, passed


def _refuse_utf16(start: bytes) -> None:
    if start.startswith(UTF16_MARKS) or start[:2] in (b"{\0", b"\0{"):
        raise InvalidArgument(
            "The transcript is UTF-16, but JSON Lines are UTF-8."
            " Convert it first: iconv -f UTF-16 -t UTF-8 FILE."
        )


def _messages_at_once(block: bytes, separator: bytes) -> list[Message] | None:
    """The messages of a block of lines, or None if any of them is none.

    The separator cannot be guessed, so no two lines can pass for one, nor one for two.
    """
    lines = block.removesuffix(b"\n")
    try:
        parsed = orjson.loads(b"[%b]" % lines.replace(b"\n", separator))
    except orjson.JSONDecodeError:
        return None
    ends = lines.count(b"\n")
    rows = parsed[::2]
    if len(rows) != ends + 1 or parsed[1::2] != [separator[2:-2].decode()] * ends:
        return None
    messages: list[Any] = []
    for row in rows:
        try:
            author, content = _AUTHORS[row["role"]], row["content"]
        except (KeyError, TypeError):
            content = None
        if type(content) is str:
            messages.append((author, content, _stamp_of(row)))  # half the cost of a Message
        elif (message := _message(row)) is not None:
            messages.append(message)
        else:
            return None
    return messages


def _messages_by_line(block: bytes, on_malformed: Unread) -> list[Message]:
    messages = []
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        message = _message(_parsed(line))
        if message is None:
            on_malformed(line)
        else:
            messages.append(message)
    return messages


def _parsed(line: bytes) -> Any:  # noqa: ANN401 - JSON
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return _with_lone_surrogates(line)


def _message(parsed: Any) -> Message | None:  # noqa: ANN401 - JSON
    if not isinstance(parsed, dict):
        return None
    role, content = parsed.get("role"), parsed.get("content")
    if not isinstance(role, str) or not role.strip():
        return None
    author = _author_of(role)
    if isinstance(content, list):
        content = _text_of_blocks(content) if author == "agent" else _any_text_of_blocks(content)
    elif not isinstance(content, str):
        return None
    return Message(author, content, _stamp_of(parsed))


def _stamp_of(row: dict[str, Any]) -> object:
    stamp = row.get("ts")
    return UNREAD if stamp is None and not _TIME_KEYS.isdisjoint(row) else stamp


def _author_of(role: str) -> Author:
    name = role.strip().lower()
    if name in AGENT_ROLES:
        return "agent"
    if name in PERSONS_ROLES:
        return "person"
    return "machine" if name in MACHINE_ROLES else "unknown"


_AUTHORS: dict[str, Author] = {
    role: _author_of(role) for role in (*AGENT_ROLES, *MACHINE_ROLES, *PERSONS_ROLES)
}
"""The usual roles, found at once."""


def _text_of_blocks(blocks: list[Any]) -> str:
    texts = (b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _any_text_of_blocks(blocks: list[Any]) -> str:
    """Also of blocks of a kind that we do not know: a person may have typed it."""
    texts = (b.get("text") if isinstance(b, dict) else b for b in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def _with_lone_surrogates(line: bytes) -> Any:  # noqa: ANN401 - JSON
    """What the line says if only half of a surrogate pair kept orjson from it, else None."""
    if b"\\ud" not in line and b"\\uD" not in line:
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return None
