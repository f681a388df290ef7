"""What one file of the queue holds, and its form as JSON."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mash_plugin.throughline.artifacts import SOURCE_KINDS, Artifact, content_digest

FORMAT = 1


class Entry(NamedTuple):
    """What one file of the queue holds."""

    agent: str
    queued_at: int
    session: str | None
    channel: str | None
    source_kind: str | None
    stage: str
    status: str | None
    replaces_session: bool
    """Whether these are all the captured artifacts of the session."""
    artifacts: tuple[Artifact, ...]

    @property
    def digests(self) -> dict[str, str]:
        """What tells these artifacts apart from those of another capture of the session.

        What an agent remembers is the same wherever it says so.
        """
        where_from = (self.channel, self.source_kind) if self.replaces_session else ()
        return {one.key: content_digest(one, *where_from) for one in self.artifacts}


def encoded(entry: Entry) -> bytes:
    """The entry as the content of its file."""
    import orjson

    body = {
        "format": FORMAT,
        "agent_id": entry.agent,
        "queued_at": entry.queued_at,
        "session": entry.session,
        "channel": entry.channel,
        "source_kind": entry.source_kind,
        "stage": entry.stage,
        "status": entry.status,
        "replaces_session": entry.replaces_session,
        "artifacts": [
            {
                "artifact_key": artifact.key,
                "category": artifact.category,
                "significance": artifact.significance,
                "text": artifact.text,
                "event_at": artifact.event_at,
            }
            for artifact in entry.artifacts
        ],
    }
    return orjson.dumps(body)


def decoded(data: bytes) -> Entry:
    """The entry of a file. Raises ValueError with what is wrong with it."""
    import orjson

    try:
        body = orjson.loads(data)
        if body["format"] != FORMAT:
            raise ValueError(f"its format is {body['format']!r}, this version reads {FORMAT}")
        entry = Entry(
            agent=_text(body, "agent_id"),
            queued_at=_moment(body, "queued_at"),
            session=_optional(body, "session"),
            channel=_optional(body, "channel"),
            source_kind=_optional(body, "source_kind"),
            stage=_text(body, "stage"),
            status=_optional(body, "status"),
            replaces_session=body["replaces_session"] is True,
            artifacts=tuple(map(_artifact, body["artifacts"])),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None
    _check(entry)
    return entry


def _artifact(body: Mapping[str, Any]) -> Artifact:
    significance = body["significance"]
    if not isinstance(significance, (int, float)) or not 0 <= significance <= 1:
        raise ValueError("significance is no number from 0 to 1")
    event_at = None if body["event_at"] is None else _moment(body, "event_at")
    key = _text(body, "artifact_key")
    return Artifact(
        key, _text(body, "category"), float(significance), _text(body, "text"), event_at
    )


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body[key]
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{key} is no text")
    return value


def _optional(body: Mapping[str, Any], key: str) -> str | None:
    return None if body[key] is None else _text(body, key)


def _moment(body: Mapping[str, Any], key: str) -> int:
    value = body[key]
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 1 << 48:
        raise ValueError(f"{key} is no time")
    return value


def _check(entry: Entry) -> None:
    if entry.stage not in ("working", "long_term"):
        raise ValueError("stage is neither working nor long_term")
    if entry.source_kind is not None and entry.source_kind not in SOURCE_KINDS:
        raise ValueError("source_kind is unknown")
    if entry.replaces_session and not entry.session:
        raise ValueError("a capture without a session")
