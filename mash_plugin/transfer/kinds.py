"""What stands in each kind of line: names, order and types; see the package for the meaning."""

import re
from collections.abc import Callable, Mapping
from typing import Any

ID_CHARS = 200
NAME = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")
"""Of owners, nodes, records and chats (R-012); hosts name messages and sessions as they like."""
_MOST = 1 << 63
Check = Callable[[Any], bool]


def _is_int(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _is_hash(value: object) -> bool:
    return type(value) is int and -_MOST <= value < _MOST


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= ID_CHARS


def _is_name(value: object) -> bool:
    return isinstance(value, str) and NAME.match(value) is not None


def _is_hex(value: object) -> bool:
    return isinstance(value, str) and len(value) % 2 == 0 and not value.strip("0123456789abcdef")


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _object_of(fields: Mapping[str, Check]) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and list(value) == list(fields)
        and all(check(value[name]) for name, check in fields.items())
    )


def _is_confirmation(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 3
        and _is_id(value[0])
        and _is_int(value[1])
        and _or_null(_is_id)(value[2])
    )


def _is_counts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_int, value.values()))


def _is_scope(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


_TYPES: dict[str, Check] = {
    "int": _is_int,
    "hash": _is_hash,
    "text": _is_text,
    "id": _is_id,
    "name": _is_name,
    "hex": _is_hex,
    "bool": _is_bool,
}


def _fields(text: str, **others: Check) -> dict[str, Check]:
    """`name:type` words; `?` allows null, `[]` is a list; a word alone is one of `others`."""
    found: dict[str, Check] = {}
    for word in text.split():
        name, _, kind = word.partition(":")
        if not kind:
            found[name] = others[name]
        elif kind.endswith("?"):
            found[name] = _or_null(_TYPES[kind[:-1]])
        elif kind.endswith("[]"):
            found[name] = _list_of(_TYPES[kind[:-2]])
        else:
            found[name] = _TYPES[kind]
    return found


EVIDENCE = _fields(
    "chat_id:name message_id:id quote:text purpose:text role:text author:text message_text:text"
    " status:text added_by:text recorded_at:int"
)
KINDS: dict[str, dict[str, Check]] = {
    "header": _fields(
        "format:int made_by:text made_at:int node:name generation:hex owner:name complete:bool"
        " masked:bool scopes",
        scopes=_or_null(_list_of(_is_scope)),
    ),
    "owner": _fields("id:name label:text origin:text created_at:int"),
    "chat": _fields(
        "id:name source:id session:id parent_session:id? title:text? project_path:text?"
        " repository:text? started_at:int? last_active_at:int? is_subagent:bool indexed_at:int"
    ),
    "message": _fields(
        "id:id role:text author:text text:text person_text:text? is_all_typed:bool"
        " is_headless:bool has_private:bool sent_at:int? tool_use_ids:text? private:hash[]"
    ),
    "record": _fields(
        "id:name owner:name kind:text scope_kind:text scope_value:text hidden_at:int? hidden_by:id?"
    ),
    "revision": _fields(
        "revision:int statement:text recorded_by:text review:text state:text decided_by:text?"
        " effective_at:int? valid_until:int? reported_by:text? alternatives:text[]"
        " consequences:text[] conditions:text[] recorded_at:int session_id:id? origin:text"
        " evidence confirmations checksum:hex",
        evidence=_list_of(_object_of(EVIDENCE)),
        confirmations=_list_of(_is_confirmation),
    ),
    "link": _fields(
        "from:name to:name relation:text from_revision:int to_revision:int recorded_at:int"
        " session_id:id?"
    ),
    "checkpoint": _fields(
        "owner:name chat:name scope_kind:text scope_value:text source_fingerprint:text"
        " record_count:int processed_at:int"
    ),
    "keys": _fields("receipt_secret:hex private_key:hex?"),
    "receipt": _fields(
        "owner:name op_key:hex status:text request_key:hex? receipt:text? recorded_at:int"
        " records:name[]"
    ),
    "forgotten": _fields("kind:text name:id at:int"),
    "imported": _fields(
        "id:name kind:text source:text checksum:hex chat:name? records:int imported_at:int"
        " made:name[]"
    ),
    "end": _fields("lines:int counts sha256:hex", counts=_is_counts),
}
ORDER = {kind: number for number, kind in enumerate(KINDS)} | {
    "message": list(KINDS).index("chat"),
    "revision": list(KINDS).index("record"),
}
"""A line never has a lower number than the one before it."""


def check_line(line: Mapping[str, Any]) -> str | None:
    """What is wrong with the shape of a line, or None."""
    kind = line.get("is")
    if not isinstance(kind, str) or kind not in KINDS:
        return f"there is no kind of line {str(kind)[:50]!r}"
    fields = KINDS[kind]
    if list(line) != ["is", *fields]:
        return f"a {kind!r} has the fields {', '.join(fields)}, in this order"
    bad = next((name for name, check in fields.items() if not check(line[name])), None)
    return f"the field {bad!r} of a {kind!r} has a wrong type or value" if bad else None
