"""What the bytes of one connection say (`wire`): pure, fed as they come."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from mash_plugin import wire
from mash_plugin.errors import InvalidArgument, MashError, TooLarge, UpgradeNeeded

LOOKS = 16
"""How often a body is tried for completeness; then only the end of input tells."""


class HookFrame(NamedTuple):
    """One hook's call."""

    name: str
    agent: str
    switches: dict[str, str]
    body: bytes


class ToolFrame(NamedTuple):
    """One request for a method."""

    method: str
    params: dict[str, Any]
    caller: dict[str, Any]

    @property
    def asks_group(self) -> bool:
        """Whether the group's server is to answer, which may take a while."""
        return self.method in ("list_records", "get_record") and bool(
            self.params.get("shared") or self.params.get("node_id")
        )


class Refused(NamedTuple):
    """Bytes that are no request; `error` is told to tools, hooks hear nothing."""

    error: MashError | None = None


LEASE: Final = "lease"
"""A connection that only keeps the daemon alive."""
NEWER_HOOK: Final = "newer-hook"
"""A hook of a later version: it is not answered, and we should make room."""

Frame = HookFrame | ToolFrame | Refused | Literal["lease", "newer-hook"]


def text_of(body: Mapping[str, Any], key: str) -> str | None:
    """The text that a request gives under this key; None where it is no text."""
    value = body.get(key)
    return value if isinstance(value, str) else None


def some_text(body: Mapping[str, Any], key: str) -> str | None:
    """The same, None also where it is empty."""
    return text_of(body, key) or None


class Incoming:
    """The bytes of one connection until they are a frame."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.hook: HookFrame | None = None
        """The hook whose body is still coming."""
        self.looks_left = LOOKS
        self.seen = 0
        """How much of `data` holds no newline."""

    def feed(self, chunk: bytes) -> Frame | None:
        """Take the next bytes; the frame when it is whole."""
        self.data += chunk
        if self.hook is None:
            newline = self.data.find(b"\n", self.seen)
            self.seen = len(self.data)
            if newline < 0:
                return self._too_long()
            line = bytes(self.data[:newline])
            del self.data[: newline + 1]
            if not line.startswith(wire.HOOK_PREFIX):
                return read_tool_line(line)
            frame = read_first_line(line)
            if not isinstance(frame, HookFrame):
                return frame
            self.hook = frame
        return self._hook_if_whole()

    def end(self) -> Frame:
        """The input has ended."""
        return self._hook() if self.hook else Refused()

    def _too_long(self) -> Refused | None:
        if self.data.startswith(wire.HOOK_PREFIX):
            return Refused() if len(self.data) > wire.HEADER_LIMIT else None
        if len(self.data) <= wire.TOOL_LIMIT:
            return None
        return Refused(TooLarge(f"The request is over {wire.TOOL_LIMIT} bytes; send less."))

    def _hook_if_whole(self) -> HookFrame | None:
        if len(self.data) > wire.HOOK_LIMIT:
            self.data.clear()
            return self._hook()
        if self.looks_left and self.data[-32:].rstrip().endswith(b"}"):
            self.looks_left -= 1
            if is_whole_json(self.data):
                return self._hook()
        return None

    def _hook(self) -> HookFrame:
        assert self.hook is not None  # noqa: S101 - only called with one
        return HookFrame(self.hook.name, self.hook.agent, self.hook.switches, bytes(self.data))


def is_whole_json(data: bytearray) -> bool:
    """Whether one JSON value, at least, has come to its end."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        return error.msg == "Extra data"
    except (ValueError, RecursionError):
        return False
    return True


def read_first_line(line: bytes) -> Frame:
    """The frame that a line beginning with `mash/` opens."""
    words = line.split(b" ")
    try:
        version = int(words[0][len(wire.HOOK_PREFIX) :])
    except ValueError:
        return Refused()
    if version > wire.PROTOCOL:
        return NEWER_HOOK
    if version < wire.OLDEST_PROTOCOL or len(words) < 2:
        return Refused()
    if words[1] == b"lease":
        return LEASE
    if words[1] != b"hook" or len(words) < 4:
        return Refused()
    pairs = [word.partition(b"=") for word in words[4:]]
    switches = {wire.unescape(key): wire.unescape(value) for key, _, value in pairs}
    return HookFrame(wire.unescape(words[2]), wire.unescape(words[3]), switches, b"")


def read_tool_line(line: bytes) -> ToolFrame | Refused:
    """The request in one line of JSON."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Refused(InvalidArgument(f"The request is not JSON ({type(error).__name__})."))
    if not isinstance(body, dict) or not isinstance(body.get("method"), str):
        return Refused(InvalidArgument("The request must be an object with a `method`."))
    params, caller, version = body.get("params", {}), body.get("caller", {}), body.get("v")
    if not isinstance(params, dict) or not isinstance(caller, dict):
        return Refused(InvalidArgument("`params` and `caller` must be objects."))
    if body["method"] not in wire.TIMELESS and not _speaks(version):
        return Refused(UpgradeNeeded(protocol=wire.PROTOCOL))
    return ToolFrame(body["method"], params, caller)


def _speaks(version: object) -> bool:
    return isinstance(version, int) and wire.OLDEST_PROTOCOL <= version <= wire.PROTOCOL
