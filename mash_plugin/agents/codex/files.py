"""Where Codex keeps its rollouts (0.171.0)."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from mash_plugin.agents.events import TranscriptFile
from mash_plugin.agents.folders import entries_of, folders_in

SESSION_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([A-Za-z0-9-]{1,64})\.jsonl(\.zst)?")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def find_transcripts(root: str) -> Iterator[TranscriptFile]:
    """Every rollout below `sessions/` and `archived_sessions/`, newest day first."""
    for path, session_id, is_compressed in _rollouts(root):
        if not is_compressed:
            yield TranscriptFile("codex", path, session_id)


def count_unread(root: str) -> int:
    """How many rollouts are skipped because Codex compressed them (an option, off in 0.171)."""
    return sum(is_compressed for _path, _session, is_compressed in _rollouts(root))


def find_session(root: str, session_id: str) -> TranscriptFile | None:
    """The rollout of one thread; the day that its UUIDv7 tells is looked at first."""
    if not SESSION_ID.fullmatch(session_id):
        return None
    for folder in _likely_days(root, session_id):
        for path, found, is_compressed in _in_folder(folder):
            if found == session_id and not is_compressed:
                return TranscriptFile("codex", path, session_id)
    for file in find_transcripts(root):
        if file.session_id == session_id:
            return file
    return None


def _rollouts(root: str) -> Iterator[tuple[str, str, bool]]:
    folders = [os.path.join(root, "archived_sessions")]
    for year in folders_in(os.path.join(root, "sessions")):
        folders += [day for month in folders_in(year) for day in folders_in(month)]
    for folder in sorted(folders, reverse=True):
        yield from _in_folder(folder)


def _in_folder(folder: str) -> Iterator[tuple[str, str, bool]]:
    for entry in reversed(entries_of(folder)):
        name = _NAME.fullmatch(entry.name)
        if name and entry.is_file(follow_symlinks=False):
            yield entry.path, name[1], bool(name[2])


def _likely_days(root: str, session_id: str) -> Iterator[str]:
    if not _UUID.fullmatch(session_id):
        return
    try:
        began = datetime.fromtimestamp(int(session_id.replace("-", "")[:12], 16) / 1000, UTC)
        days = [began + timedelta(days=shift) for shift in (0, 1, -1)]
    except (ValueError, OverflowError, OSError):
        return
    for day in days:
        yield os.path.join(root, "sessions", f"{day:%Y}", f"{day:%m}", f"{day:%d}")
