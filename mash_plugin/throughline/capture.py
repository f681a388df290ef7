"""Capture a session: a transcript becomes at most five artifacts in the queue.

Deterministic and without a model: equal transcripts and options give equal artifacts (R-185).
"""

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from mash_plugin.throughline import queue
from mash_plugin.throughline.artifacts import (
    Artifact,
    Source,
    key_line_artifacts,
    log_summary,
    session_summary,
)
from mash_plugin.throughline.entries import Entry

if TYPE_CHECKING:
    from mash_plugin.throughline.session import Session


class Captured(NamedTuple):
    """What a capture queued."""

    source: Source
    queued: int
    known: int
    malformed: int
    dropped: int
    """Key lines left out because they look like a credential or repeat a person."""

    def __str__(self) -> str:
        return (
            f"capture-session: {self.queued} artifact(s) queued for {self.source.agent}"
            f" (session {self.source.session}, {self.known} already queued,"
            f" {self.malformed} malformed lines skipped)"
        )


def capture_session(source: Source, file: BinaryIO, workspace: str, now: int) -> Captured:
    """Capture a transcript in JSON Lines; one without messages queues nothing."""
    from mash_plugin.throughline.session import read_session

    return keep(source, read_session(file), workspace, now)


def keep(source: Source, session: "Session", workspace: str, now: int) -> Captured:
    """Queue what is worth keeping of a session that was read."""
    artifacts: list[Artifact] = []
    if session.messages:
        counts = (session.messages, session.by_agent)
        artifacts = [session_summary(source, *counts, session.span)]
        artifacts += key_line_artifacts(session.key_lines)
    queued, known = _queue(source, artifacts, workspace, now)
    return Captured(source, queued, known, session.malformed, session.dropped)


def capture_log(source: Source, file: BinaryIO, workspace: str, now: int) -> Captured:
    """Capture a plain log: its summary alone, also of an empty one, for the job ran."""
    from mash_plugin.throughline.transcript import count_lines

    queued, known = _queue(source, [log_summary(source, count_lines(file))], workspace, now)
    return Captured(source, queued, known, malformed=0, dropped=0)


def _queue(source: Source, artifacts: list[Artifact], workspace: str, now: int) -> tuple[int, int]:
    """Queue the whole set unless the session is known just so; how many are new, and known."""
    if not artifacts:
        return 0, 0
    with queue.told(workspace):
        before = queue.known_artifacts(workspace, source.agent, source.session)
    after = queue.digests(artifacts)
    known = sum(before.get(key) == digest for key, digest in after.items())
    if before != after:
        entry = Entry(
            agent=source.agent,
            queued_at=now,
            session=source.session,
            channel=source.channel,
            source_kind=source.kind,
            stage="working",
            status=None,
            replaces_session=True,
            artifacts=tuple(artifacts),
        )
        queue.put(workspace, entry)
    return len(after) - known, known
