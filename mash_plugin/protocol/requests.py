"""The request of every tool as a flat model: one table of combinations instead of unions.

Clients drop `$ref` and `oneOf` in places; flat models publish schemas that need neither.
"""

import posixpath
import unicodedata
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from mash_plugin.records.files import is_relative_path
from mash_plugin.records.model import LIVE_STATES, RETIRED_STATES

OLDEST_MS, NEWEST_MS = 100_000_000_000, 253_402_300_799_999
MAX_OFFSET = 1_000_000_000
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category, yet nothing to see."""


def _visible(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("text", "must not hold NUL characters")
    if not any(map(_is_visible, text)):
        raise PydanticCustomError("text", "must hold at least one visible character")
    return text


def _is_visible(character: str) -> bool:
    """Whether it shows by itself: no space, mark, filler or blank pattern."""
    if not character.isprintable() or character in _BLANK:
        return False
    return unicodedata.category(character)[0] not in "MZC"


def _printable(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise PydanticCustomError("text", "must be printable characters")
    return text


def _milliseconds(value: int) -> int:
    if value < OLDEST_MS:
        raise PydanticCustomError(
            "time", "must be Unix milliseconds (13 digits); leave an unknown time out"
        )
    if value > NEWEST_MS:
        raise PydanticCustomError("time", "is after the year 9999; Unix milliseconds are expected")
    return value


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise PydanticCustomError("path", "must be an absolute path")
    return posixpath.normpath("/" + path.lstrip("/"))


def _relative(path: str) -> str:
    if not is_relative_path(path):
        raise PydanticCustomError(
            "path", "must be a path relative to the project root, with / and without .."
        )
    return path


def _text(limit: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=limit)


Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Ms = Annotated[int, AfterValidator(_milliseconds)]
ListItem = Annotated[str, _text(500), AfterValidator(_visible)]
Texts = Annotated[list[ListItem], Field(min_length=1, max_length=16)] | ListItem
Statement = Annotated[str, _text(2000), AfterValidator(_visible)]
Quote = Annotated[str, _text(4000), AfterValidator(_visible)]
Offset = Annotated[int, Field(ge=0, le=MAX_OFFSET)]
OperationId = Annotated[
    str, StringConstraints(min_length=1, max_length=200), AfterValidator(_printable)
]
Name = Annotated[str, _text(200), AfterValidator(_visible)]
State = Literal["proposed", "accepted", "active", "current", "superseded", "withdrawn", "retracted"]
STATES = "decision: proposed or accepted; preference: active; fact: current."


class Request(BaseModel):
    """Nothing is converted, and nothing unknown is let through."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Scope(Request):
    """One exact scope; `kind` decides which of the other fields it takes."""

    kind: Literal["personal", "repository", "local_project", "chat"]
    identity: Annotated[str, _text(1000), AfterValidator(_visible)] | None = Field(
        None, description='For kind repository: its identity, such as "github.com/acme/shop".'
    )
    path: Annotated[str, _text(4096), AfterValidator(_absolute)] | None = Field(
        None, description="For kind local_project: the absolute path of the project."
    )
    id: Id | None = Field(None, description="For kind chat: the chat ID.")

    @model_validator(mode="after")
    def _one_name(self) -> "Scope":
        names = {"personal": set(), "repository": {"identity"}, "local_project": {"path"}}
        wanted: set[str] = names.get(self.kind, {"id"})
        _check_fields(self, f"scope of kind {self.kind}", wanted | {"kind"}, wanted)
        return self


class SketchedDetails(Request):
    """The kind of a record that may be saved, and what is known of it already."""

    kind: Literal["decision", "preference", "fact"]
    state: State | None = Field(None, description=STATES)
    decided_by: Literal["person", "agent"] | None = Field(
        None, description="Decisions only. agent: you chose it yourself. Left out: the person."
    )
    alternatives: Texts | None = Field(None, description="Decisions only: what was not chosen.")
    consequences: Texts | None = Field(None, description="Decisions only: what follows.")
    conditions: Texts | None = Field(None, description="Preferences only: when it holds.")
    reported_by: Annotated[str, _text(300), AfterValidator(_visible)] | None = Field(
        None, description="Facts only, required: who or what claims it."
    )
    valid_until: Ms | None = Field(None, description="Facts only: Unix milliseconds.")

    @model_validator(mode="after")
    def _kinds_own(self) -> "SketchedDetails":
        allowed, required = _KIND_FIELDS[self.kind]
        _check_fields(self, self.kind, allowed | {"kind", "state"}, self._needed(required))
        states = LIVE_STATES[self.kind] + RETIRED_STATES[self.kind]
        if self.state is not None and self.state not in states:
            raise _combination(
                f"{self.state!r} is no state of a {self.kind}; allowed: {', '.join(states)}"
            )
        for field in ("alternatives", "consequences", "conditions"):
            value = getattr(self, field)
            if isinstance(value, str):
                setattr(self, field, [value])
        return self

    def _needed(self, _required: set[str]) -> set[str]:
        return set()


class Details(SketchedDetails):
    """The kind of record, its state, and the fields of that kind."""

    state: State = Field(description=STATES)

    def _needed(self, required: set[str]) -> set[str]:
        return required


class SketchedBody(Request):
    """What a record may come to say."""

    statement: Statement = Field(description="One self-contained statement, 1-2000 characters.")
    recorded_by: Name | None = Field(None, description="Your name; attribution only.")
    review: Literal["candidate", "established"] = Field(
        "candidate", description="established needs the person's own words as endorsement."
    )
    effective_at: Ms | None = Field(
        None, description="When it takes effect, Unix milliseconds; leave out if unknown."
    )
    details: SketchedDetails

    @model_validator(mode="after")
    def _times(self) -> "SketchedBody":
        until = self.details.valid_until
        if until is not None and self.effective_at is not None and until <= self.effective_at:
            raise _combination("details.valid_until must be after effective_at")
        return self


class Body(SketchedBody):
    """What the record says."""

    details: Details


class CandidateBody(Body):
    """What a draft says: a review of a chat settles nothing."""

    review: Literal["candidate"] = Field(
        "candidate", description="Only candidate: establish one by one afterwards, with revise."
    )


class Citation(Request):
    """Words of a chat: `quote` with either `session_id` or `message_id`."""

    message_id: Id | None = Field(None, description="The message that holds the quote.")
    session_id: Name | None = Field(
        None, description="A session whose newest message with the quote is cited."
    )
    quote: Quote = Field(description="Verbatim words of that message, 1-4000 characters.")
    purpose: Literal["context", "endorsement", "report"] = Field(
        "context",
        description="endorsement: the person's own typed approval; report: a source's claim.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> "Citation":
        if (self.message_id is None) == (self.session_id is None):
            raise _combination("give either message_id or session_id, and not both")
        return self


class At(Request):
    """A record at the revision that was read."""

    id: Id
    revision: int = Field(ge=1, le=MAX_OFFSET)


class Change(Request):
    """What to do; `action` decides which of the other fields it takes."""

    action: Literal["create", "revise", "supersede", "confirm", "forget", "link", "unlink"]
    scope: Scope | None = Field(None, description="create, required: where the record holds.")
    body: Body | None = Field(
        None,
        description="create, revise and supersede, required: all that the record says; a field"
        " left out is gone.",
    )
    evidence: Annotated[list[Citation], Field(min_length=1, max_length=32)] | None = Field(
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
        _check_fields(self, self.action, required | optional | {"action"}, required)
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
    file: (
        Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_relative)]
        | None
    ) = Field(None, description='A path relative to the project root, such as "src/main.rs".')

    @model_validator(mode="after")
    def _file_needs_a_project(self) -> "RecallRequest":
        if self.file is not None and self.scope.kind not in ("repository", "local_project"):
            raise _combination("file needs a scope of kind repository or local_project")
        return self


class GetRecordRequest(Request):
    """get_record"""

    id: Id
    history: bool = Field(False, description="Also earlier revisions.")
    limit: int | None = Field(
        None, ge=1, le=20, description="Revisions per page with history, 8 if left out."
    )
    before_revision: int | None = Field(None, ge=1, le=MAX_OFFSET)
    link_offset: Offset = 0

    @model_validator(mode="after")
    def _pages_need_history(self) -> "GetRecordRequest":
        if not self.history and (self.limit is not None or self.before_revision is not None):
            raise _combination("limit and before_revision need history: true")
        return self


class ListRecordsRequest(Request):
    """list_records"""

    scope: Scope | None = None
    kind: Literal["decision", "preference", "fact"] | None = None
    state: (
        Literal["proposed", "accepted", "active", "current", "superseded", "withdrawn", "retracted"]
        | None
    ) = None
    review: Literal["candidate", "established"] | None = None
    chat: Id | None = Field(
        None, description="Only records of which a revision or confirmation cites this chat."
    )
    include_inactive: bool = Field(
        False, description="Also candidates, retired records and those with changed sources."
    )
    limit: int = Field(20, ge=1, le=50)
    offset: Offset = 0


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
    evidence: Annotated[list[Citation], Field(min_length=1, max_length=32)] = Field(
        description="Citations of the reviewed chat alone."
    )


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
_KIND_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "decision": ({"decided_by", "alternatives", "consequences"}, set()),
    "preference": ({"conditions"}, set()),
    "fact": ({"reported_by", "valid_until"}, {"reported_by"}),
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


def _check_fields(model: BaseModel, what: str, allowed: set[str], required: set[str]) -> None:
    present = {name for name, value in model if value is not None}
    if missing := sorted(required - present):
        raise _combination(f"a {what} needs {', '.join(missing)}")
    if extra := sorted(present - allowed):
        raise _combination(f"a {what} takes no {', '.join(extra)}")


def _combination(message: str) -> PydanticCustomError:
    return PydanticCustomError("combination", "{message}", {"message": message})
