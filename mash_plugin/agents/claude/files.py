"""Where Claude Code keeps its transcripts (2.1.332; up to 2.1.x subagents lay beside them)."""

import os
import re
from collections.abc import Iterator

from mash_plugin.agents.events import TranscriptFile
from mash_plugin.agents.folders import entries_of, folders_in

SESSION_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


def find_transcripts(root: str) -> Iterator[TranscriptFile]:
    """Every transcript below `projects/`, those of subagents too; links are not followed."""
    for project in folders_in(os.path.join(root, "projects")):
        for entry in entries_of(project):
            if entry.is_dir(follow_symlinks=False):
                yield from _subagents(entry.path, entry.name)
            elif entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                name = entry.name.removesuffix(".jsonl")
                # Up to 2.1.x subagents lay beside their parent's transcript.
                yield TranscriptFile("claude-code", entry.path, name, name.startswith("agent-"))


def find_session(root: str, session_id: str) -> TranscriptFile | None:
    """The transcript of one session, looked up by name; the ID never becomes a path unchecked."""
    parent, slash, name = session_id.partition("/")
    if not _is_name(parent) or (slash and not _is_name(name)):
        return None
    below = (parent, "subagents", name + ".jsonl") if slash else (parent + ".jsonl",)
    for project in folders_in(os.path.join(root, "projects")):
        path = os.path.join(project, *below)
        if os.path.isfile(path):
            is_subagent = bool(slash) or parent.startswith("agent-")
            return TranscriptFile("claude-code", path, session_id, is_subagent)
    return None


def count_unread(_root: str) -> int:
    """None: whatever Claude Code kept can be read."""
    return 0


def _is_name(name: str) -> bool:
    return bool(SESSION_ID.fullmatch(name)) and name not in (".", "..")


def _subagents(folder: str, session: str) -> Iterator[TranscriptFile]:
    for entry in entries_of(os.path.join(folder, "subagents")):
        if entry.name.startswith("agent-") and entry.name.endswith(".jsonl"):
            name = f"{session}/{entry.name.removesuffix('.jsonl')}"
            yield TranscriptFile("claude-code", entry.path, name, is_subagent=True)
