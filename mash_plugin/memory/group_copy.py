"""What a copy of the group's records on this machine holds."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from mash_plugin.records.ranking import Ranked


class GroupRecord(NamedTuple):
    """The newest revision of an established record of somebody else, as it was published."""

    id: str
    node_id: str
    owner: str
    kind: str
    revision: int
    state: str
    statement: str
    recorded_by: str
    recorded_at: int
    confirmations: int
    decided_by: str | None
    effective_at: int | None
    valid_until: int | None
    reported_by: str | None
    alternatives: Sequence[str]
    consequences: Sequence[str]
    conditions: Sequence[str]
    is_suspicious: bool
    """Reads like an instruction to an agent: hooks never show it."""
    statement_tokens: str
    strong_tokens: str
    weak_tokens: str

    @property
    def ranked(self) -> Ranked:
        """What ranking needs to know; no two nodes share a name in it."""
        return Ranked(
            f"{self.id} {self.node_id}",
            0,
            self.recorded_at,
            self.confirmations,
            self.decided_by == "agent",
            self.strong_tokens,
            self.weak_tokens,
        )


class GroupCopy(NamedTuple):
    """The records of one repository, the best first, and when they were read."""

    records: Iterable[GroupRecord]
    read_at: int


class GroupMemory(Protocol):
    """The copies on this machine; looking never waits for the network."""

    def look(self, identity: str, now: int) -> GroupCopy | None:
        """The copy of a repository, if there is one, which will be kept fresh from now on."""
        ...
