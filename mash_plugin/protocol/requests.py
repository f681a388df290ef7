"""The request of every tool as a flat model: one table of combinations instead of unions."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from mash_plugin.protocol.bodies import (
    Body,
    CandidateBody,
    Citations,
    Request,
    Scope,
    SketchedBody,
    check_fields,
    combination,
)
from mash_plugin.protocol.fields import (
    Cursor,
    FilePath,
    Id,
    Offset,
    OperationId,
    RevisionNumber,
)
from mash_plugin.records.model import LIVE_STATES, Kind, Review, State


class At(Request):
    """A record at the revision that was read."""

    id: Id
    revision: RevisionNumber


class Change(Request):
    """What to do; `action` decides which of the other fields it takes."""

    action: Literal["create", "revise", "supersede", "confirm", "forget", "link", "unlink"]
    scope: Scope | None = Field(None, description="create, required: where the record holds.")
    body: Body | None = Field(
        None,
        description="create, revise and supersede, required: all that the record says; a field"
        " left out is gone.",
    )
    evidence: Citations | None = Field(
        None,
        description="create, revise, supersede and confirm, required: citations of the chat that"
        " the change rests on. forget: the person's request, for what they established.",
    )
    on_duplicate: Literal["report", "reuse"] | None = Field(
        None,
        description="create: report (default) refuses an identical live record and names it;"
        " reuse answers with that record.",
    )
    expected: At | None = Field(
        None,
        description="All but create, required: the record and the revision that you have read.",
    )
    target: At | None = Field(None, description="link and unlink, required: the other record.")
    relation: Literal["supports", "contradicts"] | None = Field(
        None, description="link and unlink, required."
    )

    @model_validator(mode="after")
    def _actions_own(self) -> "Change":
        required, optional = ACTION_FIELDS[self.action]
        if "evidence" in required and self.evidence is None:
            raise PydanticCustomError("no_evidence", "at least one citation is needed")
        check_fields(self, self.action, required | optional | {"action"}, required)
        if self.action == "create":
            self.on_duplicate = self.on_duplicate or "report"
            if self.body and self.body.details.state not in LIVE_STATES[self.body.details.kind]:
                raise PydanticCustomError(
                    "retired_state",
                    "a record cannot be created {state}; allowed: {allowed}",
                    {
                        "state": self.body.details.state,
                        "allowed": ", ".join(LIVE_STATES[self.body.details.kind]),
                    },
                )
        return self


class RecordRequest(Request):
    """record"""

    operation_id: OperationId = Field(
        description="Your own ID for this change; the same one for its retries, 1-200 characters."
    )
    change: Change


class RecallRequest(Request):
    """recall_records"""

    scope: Scope
    query: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="Words to rank by; no model is used."
    )
    limit: int = Field(8, ge=1, le=20)
    byte_budget: int = Field(6000, ge=1024, le=32_768)
    include_review: bool = Field(
        False, description="Also stale, inactive and conflicted records, labelled."
    )
    include_personal: bool = False
    include_group: bool = Field(
        False, description="Also up to two of what others of the group established here."
    )
    file: FilePath | None = Field(
        None, description='A path relative to the project root, such as "src/main.rs".'
    )

    @model_validator(mode="after")
    def _file_needs_a_project(self) -> "RecallRequest":
        if self.file is not None and self.scope.kind not in ("repository", "local_project"):
            raise combination("file needs a scope of kind repository or local_project")
        if self.include_group and self.scope.kind != "repository":
            raise combination("include_group needs a scope of kind repository")
        return self


class GetRecordRequest(Request):
    """get_record"""

    id: Id
    history: bool = Field(False, description="Also earlier revisions.")
    limit: int | None = Field(
        None, ge=1, le=20, description="Revisions per page with history, 8 if left out."
    )
    before_revision: RevisionNumber | None = None
    link_offset: Offset = 0
    node_id: Id | None = Field(
        None, description="Read the copy that this node published to the group."
    )

    @model_validator(mode="after")
    def _pages_need_history(self) -> "GetRecordRequest":
        if not self.history and (self.limit is not None or self.before_revision is not None):
            raise combination("limit and before_revision need history: true")
        return self


class ListRecordsRequest(Request):
    """list_records"""

    scope: Scope | None = None
    kind: Kind | None = None
    state: State | None = None
    review: Review | None = None
    chat: Id | None = Field(
        None, description="Only records of which a revision or confirmation cites this chat."
    )
    include_inactive: bool = Field(
        False, description="Also candidates, retired records and those with changed sources."
    )
    limit: int = Field(20, ge=1, le=50)
    offset: Offset = 0
    shared: bool = Field(
        False, description="List what all nodes of the group have published, instead of local ones."
    )
    node_id: Id | None = Field(None, description="With shared: only records of this node.")
    cursor: Cursor | None = Field(
        None, description="With shared: next_cursor of the page before, with the same filters."
    )

    @model_validator(mode="after")
    def _pages_of_their_own(self) -> "ListRecordsRequest":
        if not self.shared and (self.node_id is not None or self.cursor is not None):
            raise combination("node_id and cursor need shared: true; local lists take offset")
        if self.shared and "offset" in self.model_fields_set:
            raise combination("shared lists take no offset: leave it out and follow next_cursor")
        if self.shared and self.scope is not None and self.scope.kind == "local_project":
            raise combination("records of a local_project are never shared; leave shared out")
        return self


class MatchesRequest(Request):
    """find_record_matches"""

    scope: Scope
    body: SketchedBody = Field(
        description="What you are about to save: statement and details.kind are enough; the whole"
        " body also tells whether create would report a duplicate."
    )


class CheckpointRequest(Request):
    """get_extraction_checkpoint"""

    chat_id: Id = Field(description="The chat to review, from list_chats or search_chats.")
    scope: Scope = Field(description="Where its records would hold.")


class Draft(Request):
    """One candidate of a review."""

    body: CandidateBody
    evidence: Citations = Field(description="Citations of the reviewed chat alone.")


class ExtractRequest(Request):
    """extract_records"""

    operation_id: OperationId = Field(
        description="Your own ID for this review; the same one for its retries, 1-200 characters."
    )
    chat_id: Id = Field(description="The chat that you reviewed.")
    scope: Scope = Field(description="The scope that you asked the checkpoint for.")
    source_fingerprint: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        description="From get_extraction_checkpoint, asked before you read the chat."
    )
    records: Annotated[list[Draft], Field(max_length=64)] = Field(
        description="0 to 64 drafts; an empty list says that nothing was worth keeping."
    )


class SearchChatsRequest(Request):
    """search_chats"""

    query: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    scope: Scope | None = Field(None, description="Only chats of this project or this one chat.")
    limit: int = Field(10, ge=1, le=50)
    offset: Offset = 0


class GetChatRequest(Request):
    """get_chat"""

    id: Id
    message_id: Id | None = Field(None, description="Open the page that holds this message.")
    limit: int = Field(50, ge=1, le=200)
    offset: Offset = 0


class ListChatsRequest(Request):
    """list_chats"""

    scope: Scope | None = Field(None, description="Only chats of this project.")
    limit: int = Field(20, ge=1, le=50)
    offset: Offset = 0


REQUESTS: dict[str, type[Request]] = {
    "record": RecordRequest,
    "recall_records": RecallRequest,
    "get_record": GetRecordRequest,
    "list_records": ListRecordsRequest,
    "find_record_matches": MatchesRequest,
    "get_extraction_checkpoint": CheckpointRequest,
    "extract_records": ExtractRequest,
    "search_chats": SearchChatsRequest,
    "get_chat": GetChatRequest,
    "list_chats": ListChatsRequest,
}
ACTION_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "create": ({"scope", "body", "evidence"}, {"on_duplicate"}),
    "revise": ({"expected", "body", "evidence"}, set()),
    "supersede": ({"expected", "body", "evidence"}, set()),
    "confirm": ({"expected", "evidence"}, set()),
    "forget": ({"expected"}, {"evidence"}),
    "link": ({"expected", "target", "relation"}, set()),
    "unlink": ({"expected", "target", "relation"}, set()),
}
