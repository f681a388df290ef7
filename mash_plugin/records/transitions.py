"""Which change may follow which head (section 7 of the specification). Pure.

Every function takes bodies and resolved citations and raises what forbids the change; the
revision that the caller expects is compared where the change is written.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mash_plugin.errors import (
    DecidedByPerson,
    EndorsementRequired,
    EstablishedRequired,
    EvidenceRequired,
    InvalidArgument,
    InvalidState,
    InvalidTransition,
    LinkEndpointInvalid,
    NotCurrent,
)
from mash_plugin.records.authority import (
    Cited,
    check_authority,
    check_persons_words,
    is_agents_decision,
    says_to_what,
)
from mash_plugin.records.evidence import quote_occurs_in
from mash_plugin.records.model import LIVE_STATES, Body, Decider, RecordStatus, Revision, Scope
from mash_plugin.records.similarity import wording_of


class End(NamedTuple):
    """What a link needs to know of one of the records that it joins."""

    id: str
    owner: str
    scope: Scope
    status: RecordStatus
    choice_of: Decider | None = None
    """Whose choice it is; None for a fact."""


def choice_of(kind: str, decided_by: str | None) -> Decider | None:
    """Whose choice a record is, by its head."""
    if kind == "fact":
        return None
    return "agent" if decided_by == "agent" else "person"


def check_revision(head: Body, new: Body, cited: Sequence[Cited]) -> None:
    """Raise unless `revise` may replace the head by this body on these citations (R-047).

    InvalidArgument (another kind), InvalidTransition, DecidedByPerson, EndorsementRequired,
    EvidenceRequired or AgentCitationRequired.
    """
    _check_same_kind(head, new)
    _check_decider(head, new)
    _check_states(head, new)
    if new.kind == "fact" and new.is_retired:
        return  # what no longer holds may be taken back on any verified word
    check_authority(new, cited)
    if is_settled_by_person(head):
        _check_may_touch(head, cited)


def check_supersede(head: Body, new: Body, cited: Sequence[Cited]) -> None:
    """Raise unless a new record with this body may take the place of the head (R-049).

    As `check_revision`; also EstablishedRequired and InvalidState (it begins retired).
    """
    _check_same_kind(head, new)
    if head.is_retired:
        raise InvalidTransition(
            f"The record is {head.state} and cannot be superseded; create a new one."
        )
    check_created_state(new)
    _check_decider(head, new)
    if head.review == "established" and new.review != "established":
        raise EstablishedRequired(
            "A candidate cannot supersede an established record: cite the words that establish"
            " the new one, or save it as a candidate of its own."
        )
    check_authority(new, cited)


def check_created_state(body: Body) -> None:
    """A record begins in a live state of its kind (R-003)."""
    if body.state not in LIVE_STATES[body.kind]:
        raise InvalidState(
            f"A {body.kind} cannot be created {body.state}; allowed:"
            f" {', '.join(LIVE_STATES[body.kind])}."
        )


def counted_by_confirm(
    head: Revision, status: RecordStatus, cited: Sequence[Cited]
) -> tuple[str, ...]:
    """The messages that newly support the head, each once (R-051).

    Raises NotCurrent, EndorsementRequired or EvidenceRequired. What the head rests on already,
    and the agent's repetition of it, support nothing.
    """
    body = head.body
    if status != "current":
        raise NotCurrent(
            f"Only an established current record can be confirmed; this one is {status}."
            + (" `revise` it, citing words that stand." if status == "stale_evidence" else "")
        )
    if body.kind != "fact":
        check_persons_words(body, cited)
        support = [c for c in cited if c.is_persons_words and c.evidence.purpose == "endorsement"]
    else:
        support = [c for c in cited if c.evidence.purpose in ("endorsement", "report")]
    support = [c for c in support if says_to_what(c, cited)]
    if not support:
        raise EvidenceRequired(
            "A fact is confirmed by a citation with purpose endorsement or report that says more"
            " than a bare approval."
        )
    known = {e.message_id for e in head.evidence if e.added_by == "revision"}
    messages = (c.evidence.message_id for c in support if not _is_echo(c, body))
    return tuple(m for m in dict.fromkeys(messages) if m not in known)


def may_forget_at_once(head: Body, cited: Sequence[Cited]) -> bool:
    """Whether an agent may remove the record now, or only hide it for a day.

    Candidates and the agent's own decisions go at once; what the person established goes on
    the person's words. Raises EvidenceRequired for a bare approval without its proposal.
    """
    if head.review != "established" or is_agents_decision(head):
        return True
    if not any(c.is_persons_words and c.evidence.purpose == "endorsement" for c in cited):
        return False
    check_persons_words(head, cited)
    return True


def check_link(source: End, target: End, relation: str, owner: str) -> None:
    """Raise unless these two records may be joined (R-053, R-054).

    InvalidArgument (a record with itself), LinkEndpointInvalid, which names the end, or
    DecidedByPerson: a contradiction takes both ends out of recall, so that the agent could
    put the person's choice out of sight by one of its own.
    """
    if source.id == target.id:
        raise InvalidArgument(f"Record {source.id} cannot be linked to itself.")
    for which, end in (("source", source), ("target", target)):
        if problem := _not_linkable(end, owner):
            raise LinkEndpointInvalid(
                f"The {which} {end.id} cannot be linked: {problem}.", end=which, id=end.id
            )
    if source.scope != target.scope:
        raise LinkEndpointInvalid(
            f"The target {target.id} cannot be linked: it has another scope than the source.",
            end="target",
            id=target.id,
        )
    if relation == "contradicts" and {source.choice_of, target.choice_of} == {"agent", "person"}:
        raise DecidedByPerson(
            "One is the agent's decision, the other the person's choice: the agent's never stands"
            " against it. Withdraw or revise the agent's, or ask the person to change theirs."
        )


def is_settled_by_person(body: Body) -> bool:
    """Whether only the person's words may touch it: an established choice of theirs."""
    return body.review == "established" and body.kind != "fact" and not is_agents_decision(body)


def _check_may_touch(head: Body, cited: Sequence[Cited]) -> None:
    try:
        check_persons_words(head, cited)
    except EndorsementRequired:
        raise EndorsementRequired(
            f"The person established this {head.kind}: whatever changes it, its wording, review or"
            " state, needs a citation with purpose endorsement of words that the person typed."
        ) from None


def _check_same_kind(head: Body, new: Body) -> None:
    if head.kind != new.kind:
        raise InvalidArgument(
            f"details.kind is {new.kind!r} but the record is a {head.kind}: a kind never changes."
            " Create a new record, and withdraw or forget the old one."
        )


def _check_decider(head: Body, new: Body) -> None:
    if head.kind != "decision":
        return
    if is_agents_decision(new) and not is_agents_decision(head):
        raise DecidedByPerson(
            "The decision is the person's, and a decision of the agent never replaces it. Save your"
            " choice as a record of its own, or ask the person."
        )
    is_taken_over = is_agents_decision(head) and not is_agents_decision(new)
    if is_taken_over and new.review != "established":
        raise EndorsementRequired(
            "The agent's decision becomes the person's only as an established one, with a citation"
            " of their endorsement."
        )


def _check_states(head: Body, new: Body) -> None:
    if new.state == "superseded" and head.state != "superseded":
        raise InvalidTransition("Only supersede makes a record superseded.")
    if head.is_retired:
        same = (head.state, head.review, is_agents_decision(head))
        if (new.state, new.review, is_agents_decision(new)) != same:
            raise InvalidTransition(
                f"The record is {head.state} ({head.review}) and stays so: only its wording can be"
                " corrected. To return to an old choice, create or supersede with a new record."
            )
    elif new.is_retired:
        if head.review == "candidate" and new.review == "established":
            raise InvalidTransition(
                f"A candidate is {new.state} as a candidate; it cannot be established by that."
            )
        if is_agents_decision(head) and not is_agents_decision(new):
            raise InvalidTransition(f"A decision of the agent is {new.state} as the agent's.")


def _is_echo(cited: Cited, body: Body) -> bool:
    """Whether the agent's message only says again what it was reminded of."""
    evidence = cited.evidence
    if evidence.author != "agent":
        return False
    told, said = wording_of(body.statement), wording_of(evidence.message_text)
    return quote_occurs_in(told.folded, said.folded)


def _not_linkable(end: End, owner: str) -> str | None:
    if end.owner != owner:
        return "it belongs to an imported owner"
    words = {
        "candidate": "it is a candidate",
        "stale_evidence": "its evidence no longer matches",
        "inactive": "it is not in force",
    }
    return words.get(end.status)
