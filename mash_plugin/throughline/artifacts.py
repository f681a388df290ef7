"""The artifacts of a session: one summary and up to four key lines, with IDs that never vary."""

from collections.abc import Iterable
from typing import NamedTuple

from mash_plugin.digest import sha256_of
from mash_plugin.throughline.clock import utc

MOST_KEY_LINES = 4
SUMMARY = "summary"
SIGNIFICANCE = {"decision": 0.65, "commitment": 0.60, "note": 0.60, SUMMARY: 0.30}
"""What an agent deliberately wrote is important; summaries alone trigger nothing (R-210)."""
IMPORTANT = 0.60
SOURCE_KINDS = ("chat", "cron", "heartbeat")
NOT_REPRESENTED = "Transcript content is not represented in this memory row."
_SEPARATOR = "\x1f"


class Artifact(NamedTuple):
    """What one row of the working buffer is made of."""

    key: str
    category: str
    significance: float
    text: str
    event_at: int | None


class Source(NamedTuple):
    """Whose session it was, as the command line names it."""

    agent: str
    session: str
    channel: str
    kind: str


class KeyLine(NamedTuple):
    """A line of the agent that is worth keeping; messages and lines are counted from zero."""

    message: int
    line: int
    category: str
    text: str
    event_at: int | None

    @property
    def key(self) -> str:
        """How the artifact is named."""
        return f"keyline-m{self.message}-l{self.line}"

    @property
    def rank(self) -> tuple[float, int, int]:
        """More significant first, then later: a recap matters more than an early intention."""
        return SIGNIFICANCE[self.category], self.message, self.line


class Span(NamedTuple):
    """The first and last known time of a session in Unix ms."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        if self.first is None or self.last is None:
            return "Span unknown."
        return f"Span {utc(self.first)} → {utc(self.last)}."


def memory_id(*parts: str) -> str:
    """Sixteen digits that depend on nothing but these parts (R-205)."""
    return sha256_of(_SEPARATOR.join(parts).encode()).hex()[:16]


def captured_id(agent: str, session: str, key: str) -> str:
    """The ID of a captured artifact: of its place, not of its text."""
    return memory_id(agent, session, key)


def content_digest(artifact: Artifact, *where_from: str | None) -> str:
    """Equal for artifacts that would be stored alike."""
    parts = (artifact.category, f"{artifact.significance:.4f}", artifact.text)
    return memory_id(*parts, str(artifact.event_at), *map(str, where_from))


def session_summary(source: Source, messages: int, by_agent: int, span: Span) -> Artifact:
    """The summary of a session with roles; nothing of its text can be in it."""
    counts = f"{messages} messages ({by_agent} agent-authored)"
    return _summary(source, counts, span)


def log_summary(source: Source, lines: int) -> Artifact:
    """The summary of a log without roles."""
    return _summary(source, f"plain log of {lines} lines", Span())


def key_line_artifacts(lines: Iterable[KeyLine]) -> list[Artifact]:
    """The best lines in the order of the transcript."""
    best = sorted(lines, key=lambda line: line.rank, reverse=True)[:MOST_KEY_LINES]
    return [
        Artifact(line.key, line.category, SIGNIFICANCE[line.category], line.text, line.event_at)
        for line in sorted(best, key=lambda line: (line.message, line.line))
    ]


def artifact_order(key: str) -> tuple[int, int, int, str]:
    """Summary, key lines by place, then what the agent remembered itself."""
    if key == SUMMARY:
        return 0, 0, 0, ""
    kind, _, place = key.partition("-")
    message, _, line = place.partition("-")
    if kind == "keyline" and message[1:].isdigit() and line[1:].isdigit():
        return 1, int(message[1:]), int(line[1:]), ""
    if place.isdigit():
        return 2, int(place), 0, ""
    return 3, 0, 0, key


def _summary(source: Source, counts: str, span: Span) -> Artifact:
    text = (
        f"Session record [{source.kind}] on {source.channel}: {counts},"
        f" session {source.session}. {span} {NOT_REPRESENTED}"
    )
    return Artifact(SUMMARY, SUMMARY, SIGNIFICANCE[SUMMARY], text, span.last)
