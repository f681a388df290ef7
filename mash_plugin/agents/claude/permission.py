"""The rule that lets Claude Code use mash's tools without asking (seen in 2.1.332).

Its default mode asks before each tool of a server, those that only read included; a rule
that names the server covers them all.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mash_plugin.agents import json_text
from mash_plugin.agents.claude import TOOL_PREFIX
from mash_plugin.agents.plugin import Before, Place
from mash_plugin.errors import InvalidArgument, plain_reason
from mash_plugin.file_writing import replace_file

RULE = TOOL_PREFIX.removesuffix("__")
LIST = ("permissions", "allow")


def may_save(place: Place) -> bool:
    """Whether the rule stands in the settings."""
    try:
        return RULE in _rules(json.loads(_file(place).read_text("utf-8")))
    except (OSError, ValueError):
        return False


def allow_saving(place: Place) -> None:
    """Add the rule; raise InvalidArgument when the settings cannot hold it."""
    file = _file(place)
    try:
        text = file.read_bytes().decode("utf-8")
        if RULE not in _rules(json.loads(text)):
            replace_file(file, json_text.append_item(text, LIST, RULE).encode())
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{file} cannot take the rule ({plain_reason(error)}); it was left alone. Add"
            f" {RULE!r} to the list permissions.allow there yourself."
        ) from None


def absent_before(settings: Mapping[str, Any]) -> list[str]:
    """What `remove_rule` may take out again."""
    absent = [] if RULE in _rules(settings) else [RULE]
    permissions = settings.get("permissions")
    if not isinstance(permissions, dict):
        return [*absent, *(() if "permissions" in settings else ("permissions", ".".join(LIST)))]
    return absent if "allow" in permissions else [*absent, ".".join(LIST)]


def remove_rule(text: str, before: Before | None) -> str:
    """The settings without the rule, and without the list that only it made necessary."""
    if before is not None and RULE not in before.absent:
        return text
    shorter = json_text.remove_item(text, LIST, RULE)
    if shorter == text:
        return text
    for path in (LIST, LIST[:1]):
        is_ours = before is None or ".".join(path) in before.absent
        if is_ours and not _value(json.loads(shorter), path):
            shorter = json_text.remove(shorter, path)
    return shorter


def _rules(settings: Any) -> list[Any]:  # noqa: ANN401 - JSON
    found = _value(settings, LIST)
    return found if isinstance(found, list) else []


def _value(settings: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    for key in path:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _file(place: Place) -> Path:
    return place.config / "settings.json"
