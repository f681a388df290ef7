"""The requests of the person's own commands: no tool has them, and no agent sees them."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mash_plugin.protocol.bodies import Request, Scope
from mash_plugin.protocol.fields import (
    FolderPath,
    Id,
    Moment,
    Name,
    Offset,
    OperationId,
    RevisionNumber,
    Statement,
)
from mash_plugin.records.model import Decider, Kind, Review, State


class LogRequest(Request):
    """What happened since a time, or so long ago."""

    since: Moment | None = None
    ago_ms: Moment | None = None
    limit: int = Field(50, ge=1, le=500)
    offset: Offset = 0


class ShowRequest(Request):
    """One page of a record, by the beginning of its ID."""

    id: Id
    before_revision: RevisionNumber | None = None
    link_offset: Offset = 0


class HiddenRequest(Request):
    """Nothing to say."""


class ChangeRequest(Request):
    """One change; without `revision` the answer only tells what it would do."""

    action: Literal["establish", "edit", "forget", "undo", "withdraw"]
    id: Id
    revision: RevisionNumber | None = None
    statement: Statement | None = None


class WithdrawRequest(Request):
    """Everything of a session; without `digest` the answer only tells what that is."""

    session_id: Name | None = None
    chat_id: Id | None = None
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None


class ReviewPlanRequest(Request):
    """The chats that were active since a moment, or one of them."""

    since: Moment = 0
    chat_id: Id | None = None


class ReviewChatRequest(Request):
    """One chat to review."""

    chat_id: Id


class ReviewFailedRequest(Request):
    """A review that was not saved, and what kind of failure it was."""

    chat_id: Id
    agent: Name
    kind: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]


class ReviewResultRequest(Request):
    """The operation that a review was to be saved by."""

    operation_id: OperationId


class RebindRequest(Request):
    """Another folder for the records of one; without `digest` the answer only tells what moves."""

    old: FolderPath
    new: FolderPath
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None


class After(Request):
    """The last record of the page before."""

    at: Moment
    id: Id


class ViewRecordsRequest(Request):
    """What is looked for; each filter that is left out looks for everything."""

    kind: Kind | None = None
    state: State | None = None
    review: Review | None = None
    decided_by: Decider | None = None
    scope: Scope | None = None
    stale: bool = False
    conflicted: bool = False
    text: Annotated[str, StringConstraints(max_length=500)] = ""
    after: After | None = None
    limit: int = Field(50, ge=1, le=200)


class ViewDaysRequest(Request):
    """The days since a moment, of all scopes or of one."""

    since: Moment
    scope: Scope | None = None


class ViewGraphRequest(Request):
    """The record that is in the middle."""

    id: Id


class ViewChatsRequest(Request):
    """A page of the chats of all projects or of one."""

    scope: Scope | None = None
    limit: int = Field(50, ge=1, le=200)
    offset: Offset = 0


class ViewChatRequest(Request):
    """A window of a chat, from a place on or around a message."""

    id: Id
    start: Offset = 0
    message_id: Id | None = None
    limit: int = Field(100, ge=1, le=200)


class ViewSessionsRequest(Request):
    """A page of sessions: of all projects or of one, of those that were shown a record."""

    project: Annotated[str, StringConstraints(max_length=4096)] | None = None
    record: Id | None = None
    limit: int = Field(30, ge=1, le=100)
    offset: Offset = 0


class ViewSessionRequest(Request):
    """A page of what one session was shown."""

    id: Name
    limit: int = Field(100, ge=1, le=200)
    offset: Offset = 0


COMMANDS: dict[str, type[Request]] = {
    "log_events": LogRequest,
    "terminal_show": ShowRequest,
    "terminal_hidden": HiddenRequest,
    "terminal_change": ChangeRequest,
    "terminal_withdraw": WithdrawRequest,
    "terminal_rebind": RebindRequest,
    "review_plan": ReviewPlanRequest,
    "review_chat": ReviewChatRequest,
    "review_failed": ReviewFailedRequest,
    "review_result": ReviewResultRequest,
    "view_records": ViewRecordsRequest,
    "view_days": ViewDaysRequest,
    "view_graph": ViewGraphRequest,
    "view_chats": ViewChatsRequest,
    "view_chat": ViewChatRequest,
    "view_sessions": ViewSessionsRequest,
    "view_session": ViewSessionRequest,
}
