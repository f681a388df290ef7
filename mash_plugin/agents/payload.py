"""What the hook payloads of both hosts share: careful field reading and the reply's shape."""

import json
import re
from typing import Any

from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.compact_json import compact_json

CHECK_SESSION = "mash-check"
"""The session that `mash init` starts to see a hook answer; nothing of it is kept."""
CHECK_TEXT = "The hooks of mash answer."
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
# Compiled when a prompt comes; a session start does not wait for it.
_TAG = r"\s*<[a-z]+(?:[-_][a-z]+)+[\s>]"
_SLASH_COMMAND = r"\s*/[A-Za-z][\w:.-]*(?:\s|$)"
_MACHINE_HEADINGS = ("# AGENTS.md instructions for", "Caveat: The messages below were generated")


def read_payload(body: bytes) -> dict[str, Any]:
    """The first JSON object of a payload; {} for anything else.

    As `parse_objects` reads it; that one is faster, but costs 25 ms to import.
    """
    try:
        found = json.loads(body.decode())
    except (ValueError, RecursionError):
        found = None
    if found is None or b"\\u" in body:  # a lone surrogate, perhaps
        from mash_plugin.agents.lines import parse_objects

        found = next(iter(parse_objects(body)), None)
    return found if isinstance(found, dict) else {}


def common_event(agent: str, events: tuple[str, ...], raw: dict[str, Any]) -> HookEvent | None:
    """The fields that every event carries, or None for an event or session that we do not know."""
    name, session_id = text_field(raw, "hook_event_name"), text_field(raw, "session_id")
    if name not in events or not session_id or not _SESSION.fullmatch(session_id):
        return None
    agent_id = text_field(raw, "agent_id") or None
    return HookEvent(
        agent=agent,
        name=name,
        session_id=session_id,
        cwd=text_field(raw, "cwd") or "",
        transcript_path=text_field(raw, "transcript_path") or None,
        source=text_field(raw, "source"),
        prompt=text_field(raw, "prompt") if name == "UserPromptSubmit" else None,
        tool_use_id=text_field(raw, "tool_use_id"),
        agent_id=agent_id,
        is_subagent=agent_id is not None,
    )


def text_field(raw: dict[str, Any], key: str) -> str | None:
    """The field when it is text; anything else counts as absent."""
    value = raw.get(key)
    return value if isinstance(value, str) else None


def tool_argument(raw: dict[str, Any], tool: str, key: str) -> str | None:
    """One text argument of the call when it is a call of this tool."""
    arguments = raw.get("tool_input")
    if raw.get("tool_name") != tool or not isinstance(arguments, dict):
        return None
    return text_field(arguments, key)


def is_written_by_host(prompt: str) -> bool:
    """Whether the host made this prompt: a notification in tags, or a slash command."""
    return bool(
        re.match(_TAG, prompt)
        or re.match(_SLASH_COMMAND, prompt)
        or prompt.lstrip().startswith(_MACHINE_HEADINGS)
    )


def wrap_context(event: HookEvent, text: str) -> bytes:
    """What the hook prints so that the text reaches the model: both hosts take one JSON object.

    Empty text gives no bytes.
    """
    if not text:
        return b""
    output = {"hookEventName": event.name, "additionalContext": text}
    return compact_json({"hookSpecificOutput": output}).encode("utf-8", "replace")
