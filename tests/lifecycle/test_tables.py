"""Every move from every standing with every sort of evidence, against the tables."""

from collections import Counter

import pytest

from mash_plugin.errors import (
    DecidedByPerson,
    EvidenceRequired,
    InvalidArgument,
    LinkEndpointInvalid,
)
from mash_plugin.records.authority import Cited
from mash_plugin.records.model import Evidence, Revision
from mash_plugin.records.transitions import End, check_link, choice_of, counted_by_confirm
from tests.lifecycle.machine import START
from tests.lifecycle.model import Action, Change, Model, Record, Revised, Say
from tests.lifecycle.pure import SCOPES, Kept, Rules, body_of
from tests.lifecycle.tables import FACT, LIVE, ROWS, STATES, Standing, rows_for
from tests.lifecycle.talk import SORTS, Cites, cites_of

STANDINGS = [
    Standing(table, review, state)
    for table in LIVE
    for review in ("candidate", "established")
    for state in STATES[table]
]
RECORD = "r0"


def world_with(say: Say, cites: Cites) -> tuple[Model, Rules]:
    """A model and the rules with one record, however it came to stand there."""
    model, rules = Model(START, Counter()), Rules()
    model.records[RECORD] = Record(0, [Revised(say, cites, START)])
    evidence = tuple(c.evidence for c in rules.cited(cites))
    rules.records[RECORD] = Kept(SCOPES[0], [Revision(1, body_of(say), START, evidence)])
    return model, rules


def check(say: Say | None, change: Change) -> None:
    """The rules say what the tables say."""
    model, rules = Model(START, Counter()), Rules()
    if say is not None:
        model, rules = world_with(say, cites_of("both", 3))
    verdict = model.judge(change)
    answer = rules.apply("once", change, START)
    model.settle("once", change, verdict, answer)


@pytest.mark.spec("R-003", "R-028", "R-029", "R-030", "R-031")
@pytest.mark.parametrize("sort", SORTS)
def test_a_record_is_created_where_a_row_allows_it(sort: str) -> None:
    for standing in STANDINGS:
        say = Say(*standing, "Keep the parser small.")
        check(None, Change("create", say=say, cites=cites_of(sort, 0)))


@pytest.mark.spec("R-033", "R-034", "R-035", "R-037", "R-038")
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("action", ["revise", "supersede"])
def test_a_record_moves_where_a_row_allows_it_and_nowhere_else(action: Action, sort: str) -> None:
    cites = cites_of(sort, 0)
    for standing in STANDINGS:
        head = Say(*standing, "Keep the parser small.")
        for aim in STANDINGS:
            say = Say(*aim, "Keep the parser tiny.")
            check(head, Change(action, record=RECORD, revision=1, say=say, cites=cites))


@pytest.mark.spec("R-036", "R-051")
@pytest.mark.parametrize("sort", SORTS)
def test_only_an_established_current_record_is_confirmed(sort: str) -> None:
    for standing in STANDINGS:
        said = Say(*standing, "Keep the parser small.")
        heads = [said, said._replace(effective_at=START + 1)]
        if standing.table == FACT:
            heads.append(said._replace(valid_until=START))
        for head in heads:
            for number in (0, 3):  # the last is what the record rests on
                cites = cites_of(sort, number)
                check(head, Change("confirm", record=RECORD, revision=1, cites=cites))


@pytest.mark.spec("R-052")
@pytest.mark.parametrize("sort", SORTS)
def test_what_the_person_established_is_forgotten_on_their_words_alone(sort: str) -> None:
    for standing in STANDINGS:
        head = Say(*standing, "Keep the parser small.")
        check(head, Change("forget", record=RECORD, revision=1, cites=cites_of(sort, 0)))


@pytest.mark.spec("R-051")
def test_an_agent_that_repeats_a_fact_does_not_confirm_it() -> None:
    say = Say("7.4", "established", "current", "The limit is a hundred megabytes.")
    head = Revision(1, body_of(say), START, ())

    def counted(text: str, role: str = "assistant", author: str = "agent") -> tuple[str, ...]:
        evidence = Evidence("c", "m", text, "report", role, author, text)  # type: ignore[arg-type]
        return counted_by_confirm(head, "current", [Cited(evidence, False)])

    assert counted("I remember: The limit is a hundred megabytes.") == ()
    assert counted("I measured it: a hundred megabytes.") == ("m",)
    assert counted("The limit is a hundred megabytes.", "tool", "automated") == ("m",)
    with pytest.raises(EvidenceRequired):
        counted("ok")


@pytest.mark.spec("R-053", "R-054")
def test_a_link_joins_two_current_records_of_ours_in_one_scope() -> None:
    own = End("r1", "me", SCOPES[0], "current")
    other = own._replace(id="r2")
    check_link(own, other, "contradicts", "me")
    with pytest.raises(InvalidArgument):
        check_link(own, own, "supports", "me")
    wrong = [
        other._replace(owner="somebody"),
        *(other._replace(status=s) for s in ("candidate", "stale_evidence", "inactive")),
    ]
    for end in wrong:
        for source, target, which in ((own, end, "target"), (end, own, "source")):
            with pytest.raises(LinkEndpointInvalid) as caught:
                check_link(source, target, "supports", "me")
            assert caught.value.details == {"end": which, "id": "r2"}
    with pytest.raises(LinkEndpointInvalid):
        check_link(own, other._replace(scope=SCOPES[1]), "supports", "me")


@pytest.mark.spec("R-033", "R-053")
def test_the_agents_choice_is_never_linked_against_the_persons() -> None:
    agents = End("r1", "me", SCOPES[0], "current", choice_of("decision", "agent"))
    persons = agents._replace(id="r2", choice_of=choice_of("preference", None))
    for source, target in ((agents, persons), (persons, agents)):
        with pytest.raises(DecidedByPerson):
            check_link(source, target, "contradicts", "me")
        check_link(source, target, "supports", "me")
    check_link(agents, agents._replace(id="r3"), "contradicts", "me")
    check_link(
        persons, persons._replace(id="r3", choice_of=choice_of("fact", None)), "contradicts", "me"
    )


@pytest.mark.spec("R-003", "R-038")
def test_no_move_has_two_rows_that_allow_it() -> None:
    for action in ("create", "revise", "supersede"):
        for head in [None] if action == "create" else STANDINGS:
            for new in STANDINGS:
                rows = rows_for(head, action, new)
                allowing = [row for row in rows if row.needs != "never"]
                assert len(allowing) <= 1, (head, action, new)
                assert not allowing or len(rows) == 1, (head, action, new)


def test_every_row_speaks_of_some_move() -> None:
    for row in ROWS:
        assert row.start is None or any(row.aims(start) for start in row.starts()), row
