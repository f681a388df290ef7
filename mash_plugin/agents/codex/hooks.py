"""Hook events of Codex (shapes seen in 0.171.0); file reads are shell commands there."""

import json
import os
from collections.abc import Iterator
from typing import Any

from mash_plugin.agents.codex import NAME
from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.agents.payload import (
    common_event,
    is_written_by_host,
    tool_argument,
)
from mash_plugin.agents.payload import wrap_context as wrap_context
from mash_plugin.errors import MashError

EVENTS: dict[str, tuple[str, ...]] = {
    "session-start": ("SessionStart", "SubagentStart"),
    "prompt-submit": ("UserPromptSubmit",),
    "file-read": ("PostToolUse",),
    "reminder-timer": ("Stop", "SessionEnd"),
}
TAIL_BYTES = 512 * 1024
FILES_PER_CALL = 4
LONGEST_READ = 8_192
"""Characters of a command that reads one file; `shlex` takes a second for a megabyte."""
_OPTIONS_WITH_VALUE = {"head": ("-n", "-c"), "tail": ("-n", "-c"), "nl": ("-b", "-w", "-s", "-v")}
_SHELL_SYNTAX = frozenset("$`*?[{~|&;<>()\n\0")


def parse_event(hook: str, raw: dict[str, Any]) -> HookEvent | None:
    """The event of this payload, or None when this hook has nothing to do with it."""
    event = common_event(NAME, EVENTS.get(hook, ()), raw)
    if event is None:
        return None
    machine = event.is_subagent or not _is_own_rollout(event)
    event = event._replace(is_subagent=machine)
    if event.name == "PostToolUse":
        command = tool_argument(raw, "Bash", "command")
        if command is None:
            return None
        path = simple_read(command)
        files = (os.path.join(event.cwd, path),) if path else ()
        return event._replace(files=files, is_machine_made=machine)
    if event.prompt is not None:
        machine = machine or is_written_by_host(event.prompt)
    return event._replace(is_machine_made=machine)


def files_read(event: HookEvent, roots: list[tuple[str, str]]) -> tuple[str, ...]:
    """The files that the command read: by Codex's own parse in its rollout, else by ours."""
    if event.transcript_path and event.tool_use_id:
        parsed = _parsed_reads(event.transcript_path, event.tool_use_id, event.cwd, roots)
        if parsed is not None:
            return parsed[:FILES_PER_CALL]
    return event.files


def simple_read(command: str) -> str | None:
    """The one file operand of a plain cat, nl, head, tail or `sed -n`, else None."""
    if len(command) > LONGEST_READ:
        return None
    import shlex  # like other imports below, not what a first answer waits for

    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    if not words or words[0] not in ("cat", "nl", "head", "tail", "sed"):
        return None
    verb, operands = words[0], list(_operands(words[0], words[1:]))
    if verb == "sed":
        if len(words) != 4 or words[1] != "-n" or len(operands) != 2:
            return None
        operands = operands[1:]
    if len(operands) != 1 or _SHELL_SYNTAX & set(operands[0]):
        return None
    return operands[0]


def _operands(verb: str, words: list[str]) -> Iterator[str]:
    takes_value = _OPTIONS_WITH_VALUE.get(verb, ())
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in takes_value:
            skip = True
        elif not word.startswith("-"):
            yield word


def _is_own_rollout(event: HookEvent) -> bool:
    # `codex review` sends the root's session ID with the rollout of its subagent.
    if event.transcript_path is None:
        return True
    stem = os.path.basename(event.transcript_path).split(".jsonl")[0]
    return stem.endswith(event.session_id)


def _parsed_reads(
    path: str, tool_use_id: str, cwd: str, roots: list[tuple[str, str]]
) -> tuple[str, ...] | None:
    """The paths of Codex's parse; None when the rollout does not hold this call (older CLIs)."""
    from mash_plugin.agents.lines import open_transcript

    try:
        with open_transcript(path, [root for _, root in roots]) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read(TAIL_BYTES)
    except (MashError, OSError, ValueError):
        return None
    wanted = tool_use_id.encode()
    for line in reversed(tail.split(b"\n")):
        if wanted in line and b'"parsed_cmd"' in line:
            item = _command_item(line, tool_use_id)
            if item is not None:
                return tuple(_read_paths(item, cwd))
    return None


def _command_item(line: bytes, tool_use_id: str) -> dict[str, Any] | None:
    try:
        item = json.loads(line)["payload"]["item"]
        return item if item["id"] == tool_use_id and isinstance(item["parsed_cmd"], list) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _read_paths(item: dict[str, Any], cwd: str) -> Iterator[str]:
    place = item.get("cwd")
    if isinstance(place, str) and place.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        cwd = unquote(urlsplit(place).path)
    for part in item["parsed_cmd"]:
        if isinstance(part, dict) and part.get("type") == "read":
            path = part.get("path")
            if isinstance(path, str) and path and "\0" not in path:
                yield os.path.join(cwd, path)
