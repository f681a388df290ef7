"""The frames on the daemon's Unix socket, byte for byte.

Hook frame, one per connection, at most HOOK_LIMIT bytes of body:

    mash/1 hook NAME AGENT KEY=VALUE ...\\n        values percent-escaped (RFC 3986)
    <the bytes of the hook's stdin, as they come>

The daemon answers as soon as the body holds one whole JSON object, or at the end of input,
and closes: nothing, or the line to print, `{"hookSpecificOutput":{...}}\\n`. Its newline is the
proof that the answer is whole. Keys: the MASH_* switches, CLAUDE_CONFIG_DIR, CODEX_HOME, and in
tests MASH_TEST_NOW_MS.

Tool frame, one per connection, at most TOOL_LIMIT bytes, one line each way:

    {"v":1,"method":"recall_records","params":{...},"caller":{...}}\\n
    {"v":1,"result":{...}}\\n    or    {"v":1,"error":{"code":...,"message":...,"details":...}}\\n

`caller` is optional: {"agent": str, "session_id": str, "tool_use_id": str, "now_ms": str}.
`now_ms` is obeyed only by a daemon that was started with MASH_TESTING=1.

Lease frame, held open by `mash mcp` so that the daemon lives while agents do:

    mash/1 lease\\n

The version travels in the first line of each; there is no extra round trip. A daemon answers
`upgrade_needed` to a version it does not speak, with its own in `details.protocol`. The methods
ping, status, drain and stop are the same in every version, so that a newer client can ask an
older daemon to make room.
"""

import _socket as socket  # not `socket`: a hook's first answer waits for this module
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mash_plugin.errors import DaemonUnavailable, Internal, MashError

PROTOCOL = 1
OLDEST_PROTOCOL = 1
"""The oldest version that this code still speaks."""
HOOK_LIMIT = 1 << 20
TOOL_LIMIT = 4 << 20
HEADER_LIMIT = 64 << 10
HOOK_PREFIX = b"mash/"
LEASE_LINE = b"mash/%d lease\n" % PROTOCOL
TIMELESS = frozenset({"ping", "status", "drain", "stop"})
"""Methods that every version understands alike."""
PATH_LIMIT = 100
"""Longer socket paths are reached from inside their folder: sun_path is 104 bytes on macOS."""


def json_line(body: Mapping[str, Any]) -> bytes:
    """One line of compact JSON in UTF-8; lone surrogates travel escaped."""
    try:
        return _dumps(body, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return _dumps(body, ensure_ascii=True).encode() + b"\n"


def request_line(
    method: str, params: Mapping[str, Any], caller: Mapping[str, Any] | None = None
) -> bytes:
    """The tool frame of one request."""
    body: dict[str, Any] = {"v": PROTOCOL, "method": method, "params": params}
    if caller:
        body["caller"] = caller
    return json_line(body)


def result_line(result: Mapping[str, Any]) -> bytes:
    """The reply of a request that was done."""
    return json_line({"v": PROTOCOL, "result": result})


def error_line(error: MashError) -> bytes:
    """The reply of a request that was not."""
    return json_line({"v": PROTOCOL, "error": error.as_json()})


def read_reply(line: bytes) -> dict[str, Any]:
    """The result in a reply line. Raises the error that it carries, with its code and details."""
    try:
        reply = json.loads(line)
        if "error" in reply:
            raise rebuilt(reply["error"])
        result = reply["result"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DaemonUnavailable(
            "The mash daemon's reply cannot be read; see `mash doctor`. Retry the same operation"
            " ID.",
            outcome="unknown",
        ) from error
    if not isinstance(result, dict):
        raise DaemonUnavailable(outcome="unknown")
    return result


def rebuilt(body: Mapping[str, Any]) -> MashError:
    """The exception behind an error object; Internal for a code that this version does not know."""
    kind = _ERRORS.get(str(body.get("code")), Internal)
    details = body.get("details")
    error = kind(str(body.get("message") or "") or None)
    if isinstance(details, dict):
        error.details.update(details)
    return error


def escape(value: str) -> str:
    """Percent-escape all but unreserved characters and slashes."""
    return "".join(chr(b) if b in PLAIN else f"%{b:02X}" for b in os.fsencode(value))


def unescape(value: bytes) -> str:
    """Undo `escape`; a stray percent sign stands for itself."""
    head, *rest = value.split(b"%")
    out = bytearray(head)
    for part in rest:
        try:
            out.append(int(part[:2].decode("ascii"), 16))
            out += part[2:]
        except ValueError:
            out += b"%" + part
    return os.fsdecode(bytes(out))


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel tells it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:
        credentials = connection.getsockopt(0, 1, 76)  # LOCAL_PEERCRED of macOS and the BSDs
    return int.from_bytes(credentials[4:8], sys.byteorder)


def peer_pid(connection: socket.socket) -> int | None:
    """The process at the other end, where the kernel tells it."""
    if sys.platform != "linux":
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)


PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/")


def _dumps(body: Mapping[str, Any], *, ensure_ascii: bool) -> str:
    return json.dumps(body, ensure_ascii=ensure_ascii, separators=(",", ":"), allow_nan=False)


def _every_error(kind: type[MashError]) -> Iterator[type[MashError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _every_error(child)


_ERRORS = {kind.code: kind for kind in _every_error(MashError) if kind.code != MashError.code} | {
    "internal": Internal
}
