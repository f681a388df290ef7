"""What a record becomes by the person's own hand, and when a session is taken back."""

import pytest

from mash_plugin.errors import InvalidArgument, InvalidState, InvalidTransition
from mash_plugin.records.model import LIVE_STATES, RETIRED_STATES, Body, Evidence
from mash_plugin.records.terminal import (
    Saved,
    TakenBack,
    established,
    reworded,
    still_cited,
    taken_back,
    withdrawn,
)


def body(kind="decision", state="accepted", **fields):
    return Body(kind=kind, state=state, statement="Use Qdrant.", recorded_by="codex", **fields)


CANDIDATE = body()
BAD, GOOD = "led-astray", "another"


@pytest.mark.parametrize(("kind", "states"), LIVE_STATES.items())
def test_every_live_candidate_can_be_established(kind, states):
    for state in states:
        new = established(body(kind, state))
        assert new.review == "established"
        assert new.state == ("accepted" if kind == "decision" else state)
        assert new.statement == "Use Qdrant."


def test_a_proposal_is_accepted_and_an_agents_decision_becomes_the_persons():
    proposed = body(state="proposed", review="established")
    assert established(proposed).state == "accepted"
    agents = body(review="established", decided_by="agent")
    assert established(agents).decided_by == "person"


@pytest.mark.parametrize(("kind", "states"), RETIRED_STATES.items())
def test_what_is_retired_is_neither_established_nor_withdrawn(kind, states):
    for state in states:
        for move in (established, withdrawn):
            with pytest.raises(InvalidTransition, match=state):
                move(body(kind, state))


@pytest.mark.parametrize("decider", [None, "person"])
def test_what_is_established_already_stays_as_it_is(decider):
    with pytest.raises(InvalidState):
        established(body(review="established", decided_by=decider))
    with pytest.raises(InvalidState):
        established(body("preference", "active", review="established"))


def test_what_is_settled_already_but_stale_is_settled_again():
    settled = body(review="established")
    assert established(settled, is_stale=True) == settled


def test_the_same_words_are_refused_with_the_command_that_brings_back_what_is_stale():
    with pytest.raises(InvalidArgument, match="`mash establish ID` brings it back"):
        reworded(CANDIDATE, CANDIDATE.statement, is_stale=True)
    for head, is_stale in ((CANDIDATE, False), (body(state="withdrawn"), True)):
        with pytest.raises(InvalidArgument) as caught:
            reworded(head, head.statement, is_stale)
        assert "establish" not in caught.value.message


QUOTE = Evidence("c", "m", "use Qdrant", "endorsement", "user", "person", "")
CHANGED = QUOTE._replace(status="changed")


@pytest.mark.parametrize(
    "settled",
    [
        body(review="established"),
        body(review="established", decided_by="person"),
        body("preference", "active", review="established"),
        body("fact", "current", review="established"),
    ],
)
def test_what_is_settled_by_hand_needs_no_quote_that_changed(settled):
    assert still_cited(settled, [QUOTE, CHANGED]) == (QUOTE,)
    assert still_cited(settled, [CHANGED]) == ()


@pytest.mark.parametrize(
    "unsettled",
    [
        CANDIDATE,
        body(review="established", decided_by="agent"),
        body(state="withdrawn", review="established"),
    ],
)
def test_what_is_not_settled_rests_on_all_its_quotes_and_never_on_confirmations(unsettled):
    confirmed = QUOTE._replace(added_by="confirmation")
    assert still_cited(unsettled, [QUOTE, CHANGED, confirmed]) == (QUOTE, CHANGED)


def test_another_wording_keeps_all_else_and_says_who_typed_it():
    new = reworded(body(alternatives=("Milvus",)), "Use Qdrant 2.")
    assert new == body(alternatives=("Milvus",))._replace(
        statement="Use Qdrant 2.", recorded_by="the person at the terminal"
    )
    with pytest.raises(InvalidArgument):
        reworded(CANDIDATE, "Use Qdrant.")


def test_each_kind_has_its_word_for_being_taken_back():
    assert withdrawn(CANDIDATE).state == "withdrawn"
    assert withdrawn(body("preference", "active")).state == "withdrawn"
    assert withdrawn(body("fact", "current")).state == "retracted"


def saved(*sessions):
    """Revisions in order; None for the person at the terminal."""
    return [
        Saved(number, session, "tool" if session else "terminal")
        for number, session in enumerate(sessions, 1)
    ]


@pytest.mark.parametrize(
    ("sessions", "is_retired", "expected"),
    [
        ([BAD], False, TakenBack("withdraw")),
        ([BAD, BAD], False, TakenBack("withdraw")),
        ([BAD, BAD], True, TakenBack("keep", 2)),
        ([GOOD, BAD], False, TakenBack("restore", 1)),
        ([GOOD, BAD, BAD], True, TakenBack("restore", 1)),
        ([GOOD, GOOD, BAD], False, TakenBack("restore", 2)),
        ([BAD, None, BAD], False, TakenBack("restore", 2)),
        ([BAD, GOOD], False, TakenBack("keep", 2)),
        ([BAD, None], False, TakenBack("keep", 2)),
    ],
)
def test_the_last_wording_of_others_comes_back_and_theirs_is_never_touched(
    sessions, is_retired, expected
):
    assert taken_back(saved(*sessions), BAD, is_retired) == expected
