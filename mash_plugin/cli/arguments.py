"""The arguments of a tool as scripts give them: JSON on the command line or standard input."""

import sys
from typing import Any

import orjson

from mash_plugin.errors import InvalidArgument


def parsed(arguments: str) -> dict[str, Any]:
    """The arguments of a call. Raises InvalidArgument for what is no JSON object."""
    data = sys.stdin.buffer.read() if arguments == "-" else arguments.encode("utf-8", "replace")
    try:
        parsed = orjson.loads(data or b"{}")
    except ValueError as error:
        raise InvalidArgument(
            f"The arguments are not JSON ({error}). Put them in single quotes."
        ) from None
    if not isinstance(parsed, dict):
        raise InvalidArgument(
            'The arguments must be one JSON object, such as \'{"query": "ferry"}\'.'
        )
    return parsed
