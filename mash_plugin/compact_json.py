"""Compact JSON in one shape everywhere; importing orjson would cost a hook's first answer 20 ms."""

import json

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def compact_json(value: object) -> str:
    """The value without spaces, characters beyond ASCII as themselves, keys in their order."""
    return _encode(value)
