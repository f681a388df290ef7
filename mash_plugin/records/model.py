"""The nouns of memory: scope, body, evidence, revision."""

from typing import Literal, NamedTuple

Kind = Literal["decision", "preference", "fact"]
State = Literal["proposed", "accepted", "active", "current", "superseded", "withdrawn", "retracted"]
Review = Literal["candidate", "established"]
Decider = Literal["person", "agent"]
Purpose = Literal["context", "endorsement", "report", "unknown"]
MessageRole = Literal["user", "assistant", "tool", "system"]
Role = Literal[MessageRole, "unknown"]
Author = Literal["person", "inferred", "agent", "automated", "unknown"]
"""Whose words a message holds. `inferred`: an older client left no mark."""
EvidenceStatus = Literal[
    "matching", "unindexed", "changed", "missing", "role_changed", "role_unknown"
]
RecordStatus = Literal["current", "candidate", "stale_evidence", "inactive"]
ScopeKind = Literal["personal", "repository", "local_project", "chat"]

LIVE_STATES: dict[Kind, tuple[State, ...]] = {
    "decision": ("proposed", "accepted"),
    "preference": ("active",),
    "fact": ("current",),
}
RETIRED_STATES: dict[Kind, tuple[State, ...]] = {
    "decision": ("superseded", "withdrawn"),
    "preference": ("superseded", "withdrawn"),
    "fact": ("superseded", "retracted"),
}
NAME_OF_VALUE = {"repository": "identity", "local_project": "path", "chat": "id"}
"""What requests and results call the value of a scope."""


def decider_of(kind: str, decided_by: str | None) -> str | None:
    """Whose a decision is: a record says so only where it is the agent's. None for other kinds."""
    return decided_by or "person" if kind == "decision" else None


class Scope(NamedTuple):
    """Where a record holds: `value` is "" for personal, else identity, path or chat ID."""

    kind: ScopeKind
    value: str = ""

    def as_json(self) -> dict[str, str]:
        """As requests and results write it."""
        name = NAME_OF_VALUE.get(self.kind)
        return {"kind": self.kind, name: self.value} if name else {"kind": self.kind}


class Body(NamedTuple):
    """What a revision says. Fields of other kinds are None or empty; times are Unix ms."""

    kind: Kind
    state: State
    statement: str
    recorded_by: str
    review: Review = "candidate"
    effective_at: int | None = None
    decided_by: Decider | None = None
    alternatives: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    reported_by: str | None = None
    valid_until: int | None = None

    @property
    def is_retired(self) -> bool:
        """Whether it was taken out of force."""
        return self.state in RETIRED_STATES[self.kind]

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that says something; who recorded it does not."""
        lists = (*self.alternatives, *self.consequences, *self.conditions)
        return (self.statement, *lists, self.reported_by or "")


class Evidence(NamedTuple):
    """One verified citation: the source's own characters and what was seen of their author."""

    chat_id: str
    message_id: str
    quote: str
    purpose: Purpose
    role: Role
    author: Author
    message_text: str
    """The cited message as it was read, so that it outlives the transcript (R-027)."""
    status: EvidenceStatus = "matching"
    added_by: Literal["revision", "confirmation"] = "revision"
    recorded_at: int = 0


class Revision(NamedTuple):
    """One immutable wording of a record with the evidence that it was saved with."""

    revision: int
    body: Body
    recorded_at: int
    evidence: tuple[Evidence, ...]
    session_id: str | None = None
    """The session that saved it."""
    origin: Literal["tool", "terminal"] = "tool"
    """`terminal`: written by the person there, which no tool can claim."""
