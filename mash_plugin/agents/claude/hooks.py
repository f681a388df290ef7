"""Hook events of Claude Code (shapes seen in 2.1.332)."""

import os
from typing import Any

from mash_plugin.agents.claude import NAME
from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.agents.payload import (
    common_event,
    is_written_by_host,
    tool_argument,
)
from mash_plugin.agents.payload import wrap_context as wrap_context

EVENTS: dict[str, tuple[str, ...]] = {
    "session-start": ("SessionStart", "SubagentStart"),
    "prompt-submit": ("UserPromptSubmit",),
    "file-read": ("PreToolUse",),
    "reminder-timer": ("Stop", "SessionEnd"),
}


def parse_event(hook: str, raw: dict[str, Any]) -> HookEvent | None:
    """The event of this payload, or None when this hook has nothing to do with it."""
    event = common_event(NAME, EVENTS.get(hook, ()), raw)
    if event is None:
        return None
    if event.prompt is not None:
        machine = event.is_subagent or is_written_by_host(event.prompt)
        return event._replace(is_machine_made=machine)
    if event.name == "PreToolUse":
        path = tool_argument(raw, "Read", "file_path")
        if not path or "\0" in path:
            return None
        return event._replace(files=(os.path.join(event.cwd, path),))
    return event


def files_read(event: HookEvent, roots: list[tuple[str, str]]) -> tuple[str, ...]:  # noqa: ARG001 - shared shape
    """The files that this call reads; Claude Code names them in the payload."""
    return event.files
