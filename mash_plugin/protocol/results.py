"""The result of every tool; absent fields are left out, never null, but for page ends."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mash_plugin.records.model import (
    Author,
    Decider,
    EvidenceStatus,
    Kind,
    Purpose,
    RecordStatus,
    Review,
    Role,
    ScopeKind,
)


class Result(BaseModel):
    """Only what is declared."""

    model_config = ConfigDict(extra="forbid", strict=True)


class At(Result):
    id: str
    revision: int


class Scope(Result):
    kind: ScopeKind
    identity: str | None = None
    path: str | None = None
    id: str | None = None


class Item(Result):
    id: str
    revision: int
    kind: Kind
    status: RecordStatus
    state: str
    review: Review
    statement: str
    scope: Scope
    recorded_by: str
    recorded_at: int
    confirmations: int
    evidence: Literal["matching", "stale"]
    conflicted: Literal[True] | None = None
    decided_by: Decider | None = None
    effective_at: int | None = None
    valid_until: int | None = None
    reported_by: str | None = None
    alternatives: list[str] | None = None
    consequences: list[str] | None = None
    conditions: list[str] | None = None
    matched: Literal[False] | None = None
    owner: str | None = Field(
        None,
        description="Of a shared record: the member whose it is. Of a local one only where it was"
        " imported from somebody else: not this person's.",
    )
    node_id: str | None = Field(
        None, description="Of a shared record: the node it was read from, for get_record."
    )
    label: str | None = Field(
        None, description="Of a shared record of another member: whose word it is."
    )


class Receipt(Result):
    operation_id: str
    action: str
    id: str
    revision: int
    replayed: bool
    recorded_at: int
    reused: bool | None = None
    superseded: At | None = None
    forgotten: Literal[True] | None = None
    removed_at: int | None = Field(
        None, description="forget: when a hidden record is removed; the person can undo till then."
    )
    confirmations_added: int | None = None
    confirmations_total: int | None = None
    target: At | None = None
    relation: Literal["supports", "contradicts"] | None = None
    warnings: list[str] | None = None


class FromGroup(Result):
    records: list[Item] = Field(max_length=2)
    read_at: int | None = Field(None, description="How old this copy is: when it was fetched.")
    note: str | None = Field(None, description="Why nothing can be told of the group.")


class Packet(Result):
    records: list[Item]
    truncated: bool
    scan_limited: bool
    group: FromGroup | None = Field(
        None, description="Only with include_group: the word of others, not of this person."
    )


class Details(Result):
    kind: Kind
    state: str
    decided_by: Decider | None = None
    alternatives: list[str] | None = None
    consequences: list[str] | None = None
    conditions: list[str] | None = None
    reported_by: str | None = None
    valid_until: int | None = None


class Body(Result):
    statement: str
    recorded_by: str
    review: Review
    effective_at: int | None = None
    details: Details


class Evidence(Result):
    chat_id: str
    message_id: str
    quote: str
    purpose: Purpose
    role: Role
    author: Author
    status: EvidenceStatus
    added_by: Literal["revision", "confirmation"]
    recorded_at: int


class Confirmation(Result):
    message_id: str
    confirmed_at: int


class Revision(Result):
    revision: int
    body: Body
    recorded_at: int
    origin: Literal["by the person at the terminal"] | None = None
    evidence: list[Evidence]
    confirmation_history: list[Confirmation]


class Link(Result):
    direction: Literal["outgoing", "incoming"]
    relation: Literal["supports", "contradicts", "supersedes"]
    id: str
    statement: str
    state: str
    active: bool
    recorded_at: int


class Whole(Result):
    record: Item
    revisions: list[Revision]
    next_before_revision: int | None
    links: list[Link]
    next_link_offset: int | None


class Page(Result):
    records: list[Item]
    next_offset: int | None = Field(default_factory=lambda: None, description="Of local lists.")
    next_cursor: str | None = Field(default_factory=lambda: None, description="Of shared lists.")
    more: Literal[True] | None = None


class Match(Result):
    match: Literal["exact", "similar"]
    identical: bool
    score: int = Field(ge=0, le=1000)
    record: Item


class Matches(Result):
    matches: list[Match] = Field(max_length=8)
    scan_limited: bool


class Checkpoint(Result):
    chat_id: str
    scope: Scope
    source_fingerprint: str = Field(description="The chat as it stands now.")
    processed_fingerprint: str | None = Field(
        description="The version that an agent claims to have reviewed; null when none did."
    )
    up_to_date: bool = Field(description="Whether both agree; it says nothing of the records.")
    processed_at: int | None
    note: str


class Extracted(Result):
    id: str
    revision: int
    reused: bool
    warnings: list[str] | None = None


class Extraction(Result):
    operation_id: str
    chat_id: str
    source_fingerprint: str
    records: list[Extracted] = Field(description="In the order of the drafts; all candidates.")
    replayed: bool
    recorded_at: int


class Chat(Result):
    id: str
    source: str
    session_id: str
    title: str | None = None
    project_path: str | None = None
    repository_identity: str | None = None
    started_at: int | None = None
    last_active_at: int | None = None
    is_subagent: bool | None = None


class Message(Result):
    id: str
    role: Literal["user", "assistant", "tool", "system"]
    author: Author
    text: str
    sent_at: int | None = None


class Hit(Result):
    chat_id: str
    message_id: str
    role: Literal["user", "assistant", "tool", "system"]
    author: Author
    snippet: str
    sent_at: int | None = None
    title: str | None = None
    project_path: str | None = None
    follows: str | None = None
    """The message that holds the words, where this one only answers it or replies to it."""


class Hits(Result):
    hits: list[Hit]
    next_offset: int | None
    more: Literal[True] | None = None


class ChatPage(Result):
    chat: Chat
    messages: list[Message]
    next_offset: int | None
    more: Literal[True] | None = None


class ChatList(Result):
    chats: list[Chat]
    next_offset: int | None
    more: Literal[True] | None = None


RESULTS: dict[str, type[Result]] = {
    "record": Receipt,
    "recall_records": Packet,
    "get_record": Whole,
    "list_records": Page,
    "find_record_matches": Matches,
    "get_extraction_checkpoint": Checkpoint,
    "extract_records": Extraction,
    "search_chats": Hits,
    "get_chat": ChatPage,
    "list_chats": ChatList,
}
