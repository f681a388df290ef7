"""Where a shared list goes on: opaque to callers, and bound to the list that it came from."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.digest import sha256_of
from mash_plugin.errors import InvalidCursor
from mash_plugin.protocol.fields import MAX_CURSOR

DIGEST_BYTES = 12
FILTERS = ("scope", "kind", "state", "review", "chat", "node_id", "include_inactive")
"""What must stay the same; `limit` may change from page to page."""


class Position(NamedTuple):
    """Behind which record of which node the list goes on; without a record: behind the node."""

    node_id: str
    recorded_at: int | None = None
    record_id: str | None = None


def write_cursor(position: Position, group_id: str, filters: Mapping[str, Any]) -> str:
    """The position in the list of this group under these filters."""
    fields = compact_json([1, *position]).encode()
    whole = _digest(fields, group_id, filters) + fields
    return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()


def read_cursor(cursor: str, group_id: str, filters: Mapping[str, Any]) -> Position:
    """The position that a cursor stands for.

    Raises InvalidCursor where it is malformed, or was given for other filters or another group.
    """
    whole = _decoded(cursor)
    digest, fields = whole[:DIGEST_BYTES], whole[DIGEST_BYTES:]
    if digest != _digest(fields, group_id, filters):
        raise _refusal("belongs to another list")
    match _parsed(fields):
        case [1, str(node_id), None, None] if _is_id(node_id):
            return Position(node_id)
        case [1, str(node_id), int(recorded_at), str(record_id)]:
            is_moment = not isinstance(recorded_at, bool) and abs(recorded_at) < 1 << 63
            if is_moment and _is_id(node_id) and _is_id(record_id):
                return Position(node_id, recorded_at, record_id)
    raise _refusal("is of another version of mash")


def _decoded(cursor: str) -> bytes:
    if not re.fullmatch(rf"[A-Za-z0-9_-]{{1,{MAX_CURSOR}}}", cursor):
        raise _refusal("is malformed")
    try:
        whole = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        raise _refusal("is malformed") from None
    if base64.urlsafe_b64encode(whole).rstrip(b"=").decode() != cursor:
        raise _refusal("is malformed")  # the last character may hide unused bits
    return whole


def _parsed(fields: bytes) -> object:
    """What the fields say: the digest needs no secret, so anybody can make one for anything."""
    try:
        return json.loads(fields)
    except (ValueError, RecursionError):
        return None


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text) is not None


def _digest(fields: bytes, group_id: str, filters: Mapping[str, Any]) -> bytes:
    told = {name: filters.get(name) for name in FILTERS}
    listed = compact_json([group_id, told]).encode()
    return sha256_of(listed + b"\0" + fields)[:DIGEST_BYTES]


def _refusal(why: str) -> InvalidCursor:
    return InvalidCursor(
        f"The cursor {why}. Pass next_cursor of the page before as it is, with the same filters;"
        " or leave the cursor out to start again."
    )
