"""Who may establish what, and which words are a bare approval."""

from typing import Any

import pytest

from mash_plugin.errors import (
    AgentCitationRequired,
    EndorsementRequired,
    EvidenceRequired,
    MashError,
)
from mash_plugin.records.approvals import is_bare_approval
from mash_plugin.records.authority import (
    Cited,
    Trust,
    check_authority,
    counts_as_person,
    warnings_of,
)
from mash_plugin.records.model import Body, Evidence

DECISION = Body("decision", "accepted", "Use Qdrant.", "agent", "established")
PREFERENCE = Body("preference", "active", "Tabs.", "agent", "established")
FACT = Body("fact", "current", "It is up.", "agent", "established", reported_by="the page")
AGENTS = Body("decision", "accepted", "Split.", "agent", "established", decided_by="agent")


def cited(quote: str = "use Qdrant", *, before: str | None = None, **fields: Any) -> Cited:
    values: dict[str, Any] = {
        "chat_id": "c",
        "message_id": "m3",
        "quote": quote,
        "purpose": "endorsement",
        "role": "user",
        "author": "person",
        "message_text": quote,
    }
    evidence = Evidence(**{**values, **fields})
    is_persons = evidence.role == "user" and evidence.author != "automated"
    return Cited(evidence, is_persons, before)


PROPOSAL = cited(
    "I propose Qdrant.", message_id="m2", purpose="context", role="assistant", author="agent"
)


def outcome(body: Body, *citations: Cited) -> type[MashError] | None:
    try:
        check_authority(body, citations)
    except MashError as error:
        return type(error)
    return None


@pytest.mark.spec("R-029", "R-020")
@pytest.mark.parametrize("body", [DECISION, PREFERENCE])
@pytest.mark.row(45)
def test_only_the_persons_endorsement_establishes(body: Body) -> None:
    assert outcome(body, cited(purpose="context")) is EndorsementRequired
    assert outcome(body, cited(purpose="report")) is EndorsementRequired
    assert outcome(body, PROPOSAL) is EndorsementRequired
    assert outcome(body, cited()) is None
    assert outcome(body, PROPOSAL, cited()) is None


@pytest.mark.spec("R-030")
def test_a_fact_is_established_by_the_persons_words_of_any_purpose() -> None:
    assert outcome(FACT, cited(purpose="report")) is None
    assert outcome(FACT, cited(purpose="context")) is None
    assert outcome(FACT, PROPOSAL) is EndorsementRequired
    page = cited(purpose="report", role="tool", author="unknown")
    assert outcome(FACT, page) is EndorsementRequired


@pytest.mark.spec("R-031")
def test_an_agents_decision_needs_the_agents_own_words_in_any_review_state() -> None:
    candidate = Body("decision", "proposed", "Split.", "agent", decided_by="agent")
    for body in (AGENTS, candidate):
        assert outcome(body, cited()) is AgentCitationRequired
        assert outcome(body, PROPOSAL) is None
    repeated = cited(role="assistant", author="automated", purpose="context")
    assert outcome(AGENTS, repeated) is AgentCitationRequired


@pytest.mark.spec("R-028")
def test_a_candidate_needs_no_endorsement() -> None:
    assert outcome(Body("preference", "active", "Tabs.", "agent"), PROPOSAL) is None


@pytest.mark.spec("R-021")
@pytest.mark.row(46)
def test_a_bare_approval_establishes_with_the_proposal_directly_before_it() -> None:
    yes = cited("Yes.", before="m2")
    assert outcome(DECISION, yes) is EvidenceRequired
    assert outcome(DECISION, yes, PROPOSAL) is None
    assert outcome(DECISION, PROPOSAL, yes) is None
    earlier = cited("I propose Milvus.", message_id="m0", purpose="context", role="assistant")
    assert outcome(DECISION, yes, earlier) is EvidenceRequired
    assert outcome(DECISION, cited("Yes.", before=None), PROPOSAL) is EvidenceRequired
    empty = cited("OK.", message_id="m2", purpose="context", role="assistant", author="agent")
    assert outcome(DECISION, yes, empty) is EvidenceRequired
    assert outcome(DECISION, cited("Yes, use Qdrant."), yes) is None
    assert outcome(FACT, cited("Yes.", purpose="report")) is EvidenceRequired


BARE = """\
yes
Yes.
ok
OK!
do it
1
2.
Yes, do it.
sure, go ahead
👍
sounds good, thanks
option 2
the first one please
ja
ja, mach das
oui, d'accord
sí
vale, adelante
sim
va bene
да
да, давай
好的
可以，就这样
はい、お願いします
네, 그렇게 해주세요
evet, tamam
tak, zrób to
no
nein
نعم
the
to me
hmm
yesss, okayyy!
y\u200bes
o\u00adk
Yes to all.
sounds good to me
fine by me
C\u2019est parti
kein Problem, mach ruhig
va bene così
tudo bem
确定
넵""".splitlines()
TELLING = """\
Yes, let's use Qdrant.
Let's go with Postgres
never push to main
use tabs
ja, nimm Postgres
是的，用Qdrant
Qdrantを使ってください
oui pour Postgres
from now on run the linter
да, берём Postgres
good tests first
keep it simple
no emojis
we do not mock
不用 Redis""".splitlines()


@pytest.mark.spec("R-021")
@pytest.mark.parametrize("quote", BARE)
def test_words_that_only_agree_are_bare(quote: str) -> None:
    assert is_bare_approval(quote)


@pytest.mark.spec("R-021")
@pytest.mark.parametrize("quote", TELLING)
def test_words_that_say_to_what_are_not_bare(quote: str) -> None:
    assert not is_bare_approval(quote)


@pytest.mark.spec("R-018")
def test_whose_words_count_follows_the_settings() -> None:
    usual, strict, open_ = Trust(), Trust(inferred=False), Trust(headless=True)
    assert counts_as_person("person", False, strict)
    assert counts_as_person("inferred", False, usual)
    assert not counts_as_person("inferred", False, strict)
    assert not counts_as_person("unknown", True, usual)
    assert counts_as_person("unknown", True, open_)
    assert not counts_as_person("unknown", False, open_)
    assert not counts_as_person("automated", True, open_)
    assert not counts_as_person("agent", True, open_)


@pytest.mark.spec("R-018")
def test_a_receipt_says_how_sure_the_author_is() -> None:
    assert warnings_of([cited()]) == []
    assert "inferred" in warnings_of([cited(author="inferred")])[0]
    assert "headless" in warnings_of([cited(author="unknown")])[0]
