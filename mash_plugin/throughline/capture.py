"""Capture a session: a transcript becomes at most five artifacts in the queue.

Deterministic and without a model: equal transcripts and options give equal artifacts (R-185).
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from mash_plugin.throughline import queue, stored
from mash_plugin.throughline.artifacts import (
    MOST_KEY_LINES,
    Artifact,
    Source,
    key_line_artifacts,
    log_summary,
    session_summary,
)
from mash_plugin.throughline.entries import Entry

if TYPE_CHECKING:
    from mash_plugin.throughline.session import Session


GOES_ON = "chat"
EMPTY_LOG = "The log is empty; what is kept is that the job ran."


class Captured(NamedTuple):
    """What a capture queued."""

    source: Source
    queued: int
    known: int
    malformed: int
    dropped: int
    """Key lines left out: like a credential, a person's words, private or too long."""
    fault: str = ""
    """Why nothing of the transcript could be used."""
    notes: tuple[str, ...] = ()
    """What the runner did otherwise than it surely meant."""
    details: tuple[str, ...] = ()
    """What else was left out, for whoever asks."""
    replaces: bool = False
    """Whether another run of a job or loop was captured under this session ID before."""
    remark: str = ""
    """What is no fault, and not for whoever wants silence."""

    def data(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "agent": self.source.agent,
            "session_id": self.source.session,
            "queued": self.queued,
            "known": self.known,
            "malformed": self.malformed,
            "dropped": self.dropped,
            "replaces": self.replaces,
        }

    def __str__(self) -> str:
        return (
            f"capture-session: {self.queued} artifact(s) queued for {self.source.agent}"
            f" (session {self.source.session}, {self.known} already queued,"
            f" {self.malformed} malformed lines skipped)"
        )


def capture_session(
    source: Source, file: BinaryIO, workspace: str, now: int, backend: str = "file"
) -> Captured:
    """Capture a transcript in JSON Lines; one without messages queues nothing."""
    from mash_plugin.throughline.session import read_session

    return keep(source, read_session(file), workspace, now, backend)


def keep(
    source: Source, session: "Session", workspace: str, now: int, backend: str = "file"
) -> Captured:
    """Queue what is worth keeping of a session that was read."""
    artifacts: list[Artifact] = []
    if session.messages:
        counts = (session.messages, session.by_agent)
        artifacts = [session_summary(source, *counts, session.span)]
        artifacts += key_line_artifacts(session.key_lines)
    queued, known, replaces = _queue(source, artifacts, workspace, now, backend)
    return Captured(
        source,
        queued,
        known,
        session.malformed,
        session.dropped,
        fault=_fault(session),
        notes=tuple(_notes(session)),
        details=tuple(_details(session)),
        replaces=replaces,
    )


def _fault(session: "Session") -> str:
    if session.messages or not session.malformed:
        return ""
    return (
        f"No line of the transcript can be used: the first one {session.first_fault}."
        " Each line is one JSON object with `role` and `content`, and perhaps `ts`."
    )


def _notes(session: "Session") -> Iterator[str]:
    if not session.messages and not session.malformed:
        yield "The transcript is empty; nothing was queued."
    if session.of_unknown_role and not session.by_agent:
        yield (
            "No message is the agent's: its role is `assistant` or `agent`, and"
            f" {session.of_unknown_role} message(s) have an unknown one."
        )
    if session.has_unread_times:
        yield (
            "No message has a time that can be read: its key is `ts`, and it is written as"
            " 2026-10-03T16:02:00Z. The day of the capture stands for it."
        )


def _details(session: "Session") -> Iterator[str]:
    if session.others:
        yield (
            f"{session.others} or more other key line(s) left out: of each session the best"
            f" {MOST_KEY_LINES} are kept"
        )
    if session.malformed:
        yield f"the first malformed line {session.first_fault}"
    if session.of_unknown_role:
        yield f"{session.of_unknown_role} message(s) of an unknown role, which are nobody's"
    if session.messages and session.span.first is None and not session.has_unread_times:
        yield "no message has a `ts`; the day of the capture stands for it"


def capture_log(
    source: Source, file: BinaryIO, workspace: str, now: int, backend: str = "file"
) -> Captured:
    """Capture a plain log: its summary alone, also of an empty one, for the job ran (R-198).

    Raises InvalidArgument for what is no text.
    """
    from mash_plugin.throughline.transcript import count_lines

    lines = count_lines(file)
    artifacts = [log_summary(source, lines)]
    queued, known, replaces = _queue(source, artifacts, workspace, now, backend)
    remark = "" if lines else EMPTY_LOG
    return Captured(source, queued, known, 0, 0, replaces=replaces, remark=remark)


def _queue(
    source: Source, artifacts: list[Artifact], workspace: str, now: int, backend: str
) -> tuple[int, int, bool]:
    """Queue the whole set unless the session is known just so.

    How many are new, how many known, and whether this replaces what another run left: a chat
    goes on under its ID, but a job that ran does not.
    """
    if not artifacts:
        return 0, 0, False
    with queue.told(os.path.join(workspace, queue.FOLDER)):
        before = stored.known_artifacts(workspace, source.agent, source.session, backend)
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
    after = entry.digests
    known = sum(before.get(key) == digest for key, digest in after.items())
    if before != after:
        queue.put(workspace, entry)
    is_other = bool(before) and before != after and source.kind != GOES_ON
    return len(after) - known, known, is_other
