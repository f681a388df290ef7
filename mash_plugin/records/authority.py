"""Who may establish what: the person's own words, or the agent's for its own choices."""

from collections.abc import Sequence
from typing import NamedTuple

from mash_plugin.errors import AgentCitationRequired, EndorsementRequired, EvidenceRequired
from mash_plugin.records.approvals import is_bare_approval
from mash_plugin.records.model import Author, Body, Evidence


class Cited(NamedTuple):
    """One resolved citation with what authority needs to know of it."""

    evidence: Evidence
    is_persons_words: bool
    """The quote is said in what the person visibly typed, as far as the settings trust it."""
    agent_message_before: str | None = None
    """The agent's message directly before it, for a message of the person."""


class Trust(NamedTuple):
    """Whose words count as the person's beside those that are surely typed."""

    inferred: bool = True
    headless: bool = False


def counts_as_person(author: Author, is_headless: bool, trust: Trust) -> bool:
    """Whether words of this author class establish."""
    if author == "person":
        return True
    if author == "inferred":
        return trust.inferred
    return author == "unknown" and is_headless and trust.headless


def check_authority(body: Body, cited: Sequence[Cited]) -> None:
    """Raise unless the citations carry what the body claims.

    EndorsementRequired, EvidenceRequired (a bare approval without its proposal) or
    AgentCitationRequired.
    """
    if is_agents_decision(body):
        if not any(_is_agents_own(c.evidence) for c in cited):
            raise AgentCitationRequired(
                "A decision of the agent needs a citation of the agent's own message that made and"
                " explained the choice, with purpose context or report."
            )
        return
    if body.review == "established":
        check_persons_words(body, cited)


def is_agents_decision(body: Body) -> bool:
    """Whether the agent chose by itself; a decision without a mark is the person's (R-028)."""
    return body.kind == "decision" and body.decided_by == "agent"


def warnings_of(cited: Sequence[Cited]) -> list[str]:
    """What a receipt must say about how sure the authors of the citations are."""
    authors = {c.evidence.author for c in cited if c.is_persons_words}
    warnings = []
    if "inferred" in authors:
        warnings.append(
            "The transcript comes from an older client that does not mark who typed a message:"
            " the author was inferred."
        )
    if "unknown" in authors:
        warnings.append(
            "The prompt may be of a headless run and counts as the person's by the setting"
            " records.trust_headless_prompts."
        )
    return warnings


def check_persons_words(body: Body, cited: Sequence[Cited]) -> None:
    """Raise EndorsementRequired or EvidenceRequired unless the person's words carry the body."""
    if body.kind == "fact":
        persons = [c for c in cited if c.is_persons_words]
        if not persons:
            raise EndorsementRequired(
                "An established fact needs a citation of the person's own words, of any purpose."
                " Save it as a candidate, or cite what the person typed: no question, nothing that"
                " they tell of another, and not between quotation marks alone."
            )
    else:
        persons = [c for c in cited if c.is_persons_words and c.evidence.purpose == "endorsement"]
        if not persons:
            raise EndorsementRequired(
                f"An established {body.kind} needs a citation with purpose endorsement of words"
                " that the person typed. Cite them, or save a candidate."
            )
    if not any(says_to_what(c, cited) for c in persons):
        raise EvidenceRequired(
            "A bare approval does not say to what: add a citation with purpose context of the"
            " agent's message directly before it, with its proposal, or quote fuller words of"
            " the person."
        )


def says_to_what(approval: Cited, cited: Sequence[Cited]) -> bool:
    """Whether it is more than a bare approval, or stands beside the proposal that it answers."""
    if not is_bare_approval(approval.evidence.quote):
        return True
    return any(
        c.evidence.message_id == approval.agent_message_before
        and c.evidence.purpose == "context"
        and _is_agents_own(c.evidence)
        and not is_bare_approval(c.evidence.quote)
        for c in cited
    )


def _is_agents_own(evidence: Evidence) -> bool:
    return (
        evidence.role == "assistant"
        and evidence.author == "agent"
        and evidence.purpose in ("context", "report")
    )
