"""Who waits in the queue of a workspace for a drain, and since when."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument
from mash_plugin.throughline import queue

LATE_MS = 15 * 60_000
"""Three drains of a usual schedule."""
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


class Waiting(NamedTuple):
    """The captures of one agent that no drain has stored yet."""

    agent: str
    entries: int
    since: int

    def told(self, now: int) -> str:
        """As part of a sentence."""
        return f"{self.agent} ({self.entries}, for {how_long(now - self.since)})"


def waiting(workspace: str, names: Sequence[str]) -> list[Waiting]:
    """The agents of these entries, who has waited longest first."""
    of_owner: dict[str, list[str]] = {}
    for name in names:
        of_owner.setdefault(name.partition("-")[0], []).append(name)
    found = []
    for mine in of_owner.values():
        for name in mine[:3]:  # the next one, where a drain was quicker or an entry is broken
            with suppress(InvalidArgument, OSError):
                agent = queue.read(workspace, name).agent
                found.append(Waiting(agent, len(mine), min(map(queue.queued_at, mine))))
                break
    return sorted(found, key=lambda one: one.since)


def of_others(workspace: str, agent: str) -> list[Waiting]:
    """The same of every agent but this one."""
    names = [name for name in queue.all_pending(workspace) if not queue.is_of(name, agent)]
    return waiting(workspace, names)


def how_long(length_ms: int) -> str:
    """A length of time as people say it."""
    if length_ms < 2 * _HOUR:
        return f"{max(0, length_ms) // _MINUTE} minutes"
    if length_ms < 2 * _DAY:
        return f"{length_ms // _HOUR} hours"
    return f"{length_ms // _DAY} days"
