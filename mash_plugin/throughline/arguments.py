"""Check a tool's arguments against its schema: the part of JSON Schema that the tools use."""

from collections.abc import Mapping
from typing import Any

from mash_plugin.errors import InvalidArgument

_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "integer": (int,)}
Json = dict[str, Any]


def checked(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Json:
    """The arguments with the defaults filled in. Raises InvalidArgument, which names the field."""
    properties: dict[str, Json] = schema["properties"]
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        known = ", ".join(properties) or "none"
        raise InvalidArgument(
            f"{unknown[0]!r:.100} is no argument of this tool; there are: {known}."
        )
    missing = [name for name in schema.get("required", ()) if arguments.get(name) is None]
    if missing:
        raise InvalidArgument(f"{missing[0]!r} is required.")
    found: Json = {name: rule["default"] for name, rule in properties.items() if "default" in rule}
    for name, value in arguments.items():
        if value is None and "default" not in properties[name]:
            continue  # clients send null for what they leave out
        _check(name, properties[name], value)
        found[name] = value
    return found


def _check(name: str, rule: Json, value: object) -> None:
    if "enum" in rule:
        if value not in rule["enum"]:
            raise InvalidArgument(f"{name} must be one of {', '.join(rule['enum'])}.")
        return
    if isinstance(value, bool) or not isinstance(value, _TYPES[rule["type"]]):
        raise InvalidArgument(f"{name} must be of type {rule['type']}.")
    if isinstance(value, str):
        _check_text(name, rule, value)
    elif isinstance(value, (int, float)) and not _lies_within(rule, value):
        raise InvalidArgument(f"{name} must be from {rule['minimum']} to {rule['maximum']}.")


def _check_text(name: str, rule: Json, value: str) -> None:
    least, most = rule.get("minLength", 0), rule.get("maxLength", 200)
    if not least <= len(value) <= most:
        raise InvalidArgument(f"{name} has {len(value)} characters; {least} to {most} are allowed.")
    if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise InvalidArgument(f"{name} holds a character that no text has (NUL or half a pair).")


def _lies_within(rule: Json, value: float) -> bool:
    return bool(rule["minimum"] <= value <= rule["maximum"])
