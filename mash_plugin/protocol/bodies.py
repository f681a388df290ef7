"""What requests are made of: scopes, bodies and citations, each as one flat model.

Clients drop `$ref` and `oneOf` in places; flat models publish schemas that need neither.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mash_plugin.protocol.fields import (
    FolderPath,
    Id,
    Identity,
    Ms,
    Name,
    Quote,
    Reporter,
    Statement,
    Texts,
)
from mash_plugin.records.model import (
    LIVE_STATES,
    RETIRED_STATES,
    Decider,
    Kind,
    Review,
    ScopeKind,
    State,
)

STATES = "decision: proposed or accepted; preference: active; fact: current."


class Request(BaseModel):
    """Nothing is converted, and nothing unknown is let through."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Scope(Request):
    """One exact scope; `kind` decides which of the other fields it takes."""

    kind: ScopeKind
    identity: Identity | None = Field(
        None, description='For kind repository: its identity, such as "github.com/acme/shop".'
    )
    path: FolderPath | None = Field(
        None, description="For kind local_project: the absolute path of the project."
    )
    id: Id | None = Field(None, description="For kind chat: the chat ID.")

    @model_validator(mode="after")
    def _one_name(self) -> "Scope":
        names = {"personal": set(), "repository": {"identity"}, "local_project": {"path"}}
        wanted: set[str] = names.get(self.kind, {"id"})
        check_fields(self, f"scope of kind {self.kind}", wanted | {"kind"}, wanted)
        return self


class SketchedDetails(Request):
    """The kind of a record that may be saved, and what is known of it already."""

    kind: Kind
    state: State | None = Field(None, description=STATES)
    decided_by: Decider | None = Field(
        None, description="Decisions only. agent: you chose it yourself. Left out: the person."
    )
    alternatives: Texts | None = Field(None, description="Decisions only: what was not chosen.")
    consequences: Texts | None = Field(None, description="Decisions only: what follows.")
    conditions: Texts | None = Field(None, description="Preferences only: when it holds.")
    reported_by: Reporter | None = Field(
        None, description="Facts only, required: who or what claims it."
    )
    valid_until: Ms | None = Field(None, description="Facts only: Unix milliseconds.")

    @model_validator(mode="after")
    def _kinds_own(self) -> "SketchedDetails":
        allowed, required = _KIND_FIELDS[self.kind]
        check_fields(self, self.kind, allowed | {"kind", "state"}, self._needed(required))
        states = LIVE_STATES[self.kind] + RETIRED_STATES[self.kind]
        if self.state is not None and self.state not in states:
            raise combination(
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
    review: Review = Field(
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
            raise combination("details.valid_until must be after effective_at")
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
            raise combination("give either message_id or session_id, and not both")
        return self


Citations = Annotated[list[Citation], Field(min_length=1, max_length=32)]
_KIND_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "decision": ({"decided_by", "alternatives", "consequences"}, set()),
    "preference": ({"conditions"}, set()),
    "fact": ({"reported_by", "valid_until"}, {"reported_by"}),
}


def check_fields(model: BaseModel, what: str, allowed: set[str], required: set[str]) -> None:
    """Raise unless all of the required fields are there and none that is not allowed."""
    present = {name for name, value in model if value is not None}
    if missing := sorted(required - present):
        raise combination(f"a {what} needs {', '.join(missing)}")
    if extra := sorted(present - allowed):
        raise combination(f"a {what} takes no {', '.join(extra)}")


def combination(message: str) -> PydanticCustomError:
    """What to raise where fields do not go together."""
    return PydanticCustomError("combination", "{message}", {"message": message})
