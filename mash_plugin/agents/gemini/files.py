"""Where Gemini CLI keeps its chats (0.61.0), below `tmp/PROJECT/` of its folder.

`chats/session-TIME-ID8.jsonl`, where ID8 is how the session's ID begins: its first line tells
the whole ID. Subagents lie in `chats/SESSION/AGENT.jsonl`. `.project_root` holds the path of the
project, after whose last part PROJECT is named. Earlier versions kept a chat as one JSON value in
`session-TIME-ID8.json`; 0.61.0 writes such a one anew, as lines, when it goes on with it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from mash_plugin.agents.events import TranscriptFile
from mash_plugin.agents.folders import entries_of, folders_in
from mash_plugin.agents.gemini import NAME
from mash_plugin.agents.lines import open_transcript
from mash_plugin.errors import InvalidArgument

MOST_OF_A_PATH = 4096
_FILE = re.compile(r"session-[0-9T-]{1,32}-([A-Za-z0-9_-]{1,8})\.(jsonl?)")
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FIRST_LINE = re.compile(rb'\{"sessionId":"([A-Za-z0-9_-]{1,128})",')


def find_transcripts(root: str) -> Iterator[TranscriptFile]:
    """Every chat of every project, those of subagents too; links are not followed."""
    for folder in _chat_folders(root):
        for entry in entries_of(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from _subagents(entry.path, entry.name)
            elif _kind(entry) == "jsonl" and (session_id := _session_of(entry.path)):
                yield TranscriptFile(NAME, entry.path, session_id)


def find_session(root: str, session_id: str) -> TranscriptFile | None:
    """The chat of one session, or of a subagent; the ID never becomes a path unchecked."""
    parent, slash, agent = session_id.partition("/")
    if not _ID.fullmatch(parent) or (slash and not _ID.fullmatch(agent)):
        return None
    for folder in _chat_folders(root):
        if slash:
            path = os.path.join(folder, parent, agent + ".jsonl")
            if os.path.isfile(path):
                return TranscriptFile(NAME, path, session_id, is_subagent=True)
            continue
        for entry in entries_of(folder):
            begins = _kind(entry) == "jsonl" and entry.name.endswith(f"-{parent[:8]}.jsonl")
            if begins and _session_of(entry.path) == session_id:
                return TranscriptFile(NAME, entry.path, session_id)
    return None


def count_unread(root: str) -> int:
    """How many chats are kept as one JSON value and were not gone on with since."""
    number = 0
    for folder in _chat_folders(root):
        names = {entry.name for entry in entries_of(folder) if _kind(entry)}
        number += sum(name.endswith(".json") and name + "l" not in names for name in names)
    return number


def project_of_chat(path: str, is_subagent: bool) -> str | None:
    """The folder in which a chat took place, as the client notes it beside the project's chats."""
    folder = os.path.dirname(os.path.dirname(path))
    if is_subagent:
        folder = os.path.dirname(folder)
    with (
        suppress(InvalidArgument, UnicodeDecodeError),
        open_transcript(os.path.join(folder, ".project_root"), [folder]) as file,
    ):
        found = file.read(MOST_OF_A_PATH).decode().strip()
        if os.path.isabs(found) and "\0" not in found:
            return found
    return None


def _subagents(folder: str, session: str) -> Iterator[TranscriptFile]:
    for entry in entries_of(folder) if _ID.fullmatch(session) else ():
        name, ending = os.path.splitext(entry.name)
        if ending == ".jsonl" and _ID.fullmatch(name) and entry.is_file(follow_symlinks=False):
            yield TranscriptFile(NAME, entry.path, f"{session}/{name}", is_subagent=True)


def _kind(entry: os.DirEntry[str]) -> str | None:
    """How the name of a chat ends; None for anything else."""
    name = _FILE.fullmatch(entry.name)
    return name[2] if name and entry.is_file(follow_symlinks=False) else None


def _session_of(path: str) -> str | None:
    """The session that the first line names; None while there is none."""
    with (
        suppress(InvalidArgument, OSError),
        open_transcript(path, [os.path.dirname(path)]) as file,
    ):
        found = _FIRST_LINE.match(file.read(256))
        if found:
            return found[1].decode()
    return None


def _chat_folders(root: str) -> Iterator[str]:
    for project in folders_in(os.path.join(root, "tmp")):
        yield os.path.join(project, "chats")
