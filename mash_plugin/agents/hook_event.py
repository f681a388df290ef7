"""A hook's call, without the host's quirks. Apart from `events`, which no first answer needs."""

from typing import NamedTuple


class HookEvent(NamedTuple):
    """One hook call, as both hosts can tell it."""

    agent: str
    name: str
    """The host's own event name, such as SessionStart."""
    session_id: str
    cwd: str
    transcript_path: str | None = None
    source: str | None = None
    """startup, resume, clear, compact or fork."""
    prompt: str | None = None
    files: tuple[str, ...] = ()
    """Absolute paths that the tool call reads."""
    tool_use_id: str | None = None
    agent_id: str | None = None
    """Set inside a subagent."""
    is_subagent: bool = False
    """A subagent, or a review, works under the ID of the session that began it."""
    is_machine_made: bool = False
    """The prompt was written by the host or an agent: no reminder for it."""
