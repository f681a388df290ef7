"""Lines of a transcript: opened safely, read with bounded memory, parsed whatever they hold."""

import json
import os
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import orjson

from mash_plugin.errors import InvalidArgument

MAX_LINE = 32 * 1024 * 1024
"""A pasted screenshot is megabytes on the line that holds the person's words."""
MAX_FILE = 16 * 1024 * 1024 * 1024
SHORT_LINE = SCAN_BLOCK = 256 * 1024
"""A longer line is measured before it is held, so that none is held twice or in vain."""
TOOL_TEXT = 200
"""Characters kept of a tool's output."""
BOM = b"\xef\xbb\xbf"
MOST_ON_A_LINE = 16
"""Values; a line of nothing but `{}` would take a minute, and a gigabyte."""
TWO_OBJECTS = b'}{"'
"""Stands in a line only where a crash left two objects on it: in a text the quote is escaped."""


class Line(NamedTuple):
    """One complete line without its line feed; `data` is None when it was too long to read."""

    offset: int
    end: int
    """Where the next line begins."""
    data: bytes | None


def read_lines(file: BinaryIO, offset: int) -> Iterator[Line]:
    """Yield the complete lines from `offset` on; a cut-off last line is left for later."""
    file.seek(offset)
    short = min(SHORT_LINE, MAX_LINE + 1)
    while True:
        data: bytes | None = file.readline(short)
        assert data is not None  # noqa: S101 - not a text stream
        end = offset + len(data)
        if data.endswith(b"\n"):
            data = data[:-1]
        else:
            rest = _skip_line(file) if len(data) == short else 0
            if not rest:
                return
            end += rest
            data = None
            if end - offset <= MAX_LINE + 1:
                file.seek(offset)
                data = file.read(end - offset - 1)
                file.seek(end)
        if data and not offset:
            data = data.removeprefix(BOM)
        yield Line(offset, end, data)
        offset = end


def open_transcript(path: str, roots: Iterable[str]) -> BinaryIO:
    """Open a transcript that really lies under one of the roots and is an ordinary file of ours.

    The path comes from a hook's input, so it is a hint, never trusted. Raises
    InvalidArgument for anything else: a pipe, a device, a link out of the root, another
    user's file, a compressed rollout.
    """
    real = "" if "\0" in path else os.path.realpath(path)
    if not any(_lies_under(real, os.path.realpath(root)) for root in roots):
        raise InvalidArgument("That transcript lies outside the folders of the agents.")
    try:
        # O_NONBLOCK: opening a pipe must not wait for its writer.
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidArgument(f"That transcript cannot be opened: {error.strerror}.") from None
    refusal = _refusal(os.fstat(handle), real)
    if refusal:
        os.close(handle)
        raise InvalidArgument(f"That transcript is refused: it is {refusal}.")
    return os.fdopen(handle, "rb", buffering=256 * 1024)


def parse_objects(line: bytes) -> list[dict[str, Any]]:
    """The JSON objects of one line; a crash can leave two on one line, or half of one.

    Lone surrogates, which orjson refuses, become U+FFFD: a database cannot store them.
    """
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _parse_leniently(line)
    return [found] if isinstance(found, dict) else []


def time_ms(text: object) -> int | None:
    """Unix ms of an ISO 8601 time; one without a zone is UTC."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def derived_id(agent: str, session_id: str | None, position: int, text: str) -> str:
    """A stable message ID where the host gives none: from source, session, position, content."""
    whole = f"{agent}\n{session_id}\n{position}\n{text}"
    return "m_" + sha256(whole.encode("utf-8", "replace")).hexdigest()[:32]


def cut_output(text: str) -> tuple[str, int]:
    """The beginning of a tool's output and how many bytes were left out."""
    if len(text) <= TOOL_TEXT:
        return text, 0
    rest = text[TOOL_TEXT:]
    left_out = len(rest) if rest.isascii() else len(rest.encode("utf-8", "replace"))
    return text[:TOOL_TEXT], left_out


def _skip_line(file: BinaryIO) -> int:
    """Read past the rest of a line; 0 when it has no end yet."""
    skipped = 0
    while block := file.readline(SCAN_BLOCK):
        skipped += len(block)
        if block.endswith(b"\n"):
            return skipped
    return 0


def _lies_under(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _refusal(status: os.stat_result, path: str) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "not an ordinary file"
    if status.st_uid != os.getuid():
        return "another user's"
    if status.st_size > MAX_FILE:
        return "too large"
    if path.endswith(".zst"):
        return "compressed"
    return None


def _parse_leniently(line: bytes) -> list[dict[str, Any]]:
    rest = line.decode("utf-8", "replace").strip()
    decoder, found = json.JSONDecoder(), []
    for _ in range(MOST_ON_A_LINE):
        try:
            value, end = decoder.raw_decode(rest)
            if isinstance(value, dict):
                found.append(_without_surrogates(value))
        except (ValueError, RecursionError):
            break
        rest = rest[end:].lstrip()
    return found


def _without_surrogates(value: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole: dict[str, Any] = json.loads(clean)
    return whole
