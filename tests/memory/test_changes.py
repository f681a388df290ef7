"""Changing records: revise, supersede, confirm, forget, link and unlink over an open store."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mash_plugin.errors import MashError
from mash_plugin.memory.forget import KEEP_HIDDEN_MS, purge_hidden
from tests.conftest import CHOICE, PROPOSAL, QUESTION, SHOP, SPLIT, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript

SAID: list[Json] = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
ASKED: list[Json] = [{"session_id": "s-1", "quote": QUESTION}]
OWN: list[Json] = [{"session_id": "s-1", "quote": SPLIT}]
LATER: list[Json] = [
    {"session_id": "s-2", "quote": "Qdrant works well, keep it.", "purpose": "endorsement"}
]
DAY = 86_400_000


def body(statement: str = "Use Qdrant.", review: str = "established", **details: Any) -> Json:
    kind: Json = {"kind": "decision", "state": "accepted", **details}
    return {"statement": statement, "review": review, "details": kind}


def agents(statement: str = "Split the index code.") -> Json:
    return body(statement, decided_by="agent")


def fact(statement: str = "The index has two modules.", review: str = "candidate") -> Json:
    return {
        "statement": statement,
        "review": review,
        "details": {"kind": "fact", "state": "current", "reported_by": "the agent"},
    }


def refusal(call: Any, *args: Any, **fields: Any) -> MashError:
    with pytest.raises(MashError) as caught:
        call(*args, **fields)
    return caught.value


def statements(packet: Json) -> list[str]:
    return [record["statement"] for record in packet["records"]]


def recalled(memory: Memory, **request: Any) -> list[str]:
    scope = {"kind": "repository", "identity": SHOP}
    return statements(memory.recall(scope=scope, **request))


@pytest.mark.spec("R-009", "R-047", "R-035")
def test_a_revision_is_added_and_the_earlier_ones_stay_as_they_were(
    memory: Memory, shop: Shop
) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    second = memory.change("revise", first, body=body("Use Qdrant."), evidence=SAID)
    memory.clock.advance(1_000)
    third = memory.change("revise", second, body=body("Use Qdrant locally."), evidence=SAID)
    assert third == {
        "operation_id": third["operation_id"],
        "action": "revise",
        "id": first["id"],
        "revision": 3,
        "recorded_at": memory.clock.now,
        "replayed": False,
    }
    told = memory.get(first["id"], history=True)["revisions"]
    assert [(r["revision"], r["body"]["statement"], r["body"]["review"]) for r in told] == [
        (3, "Use Qdrant locally.", "established"),
        (2, "Use Qdrant.", "established"),
        (1, "Perhaps Qdrant.", "candidate"),
    ]
    assert recalled(memory) == ["Use Qdrant locally."]


@pytest.mark.spec("R-035", "R-036")
def test_a_candidate_is_established_by_the_persons_words_alone(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    error = refusal(memory.change, "revise", first, body=body(), evidence=ASKED)
    assert error.code == "endorsement_required"
    assert refusal(memory.change, "confirm", first, evidence=SAID).code == "not_current"
    assert memory.get(first["id"])["record"]["revision"] == 1


@pytest.mark.spec("R-046")
@pytest.mark.row(41)
def test_a_change_made_for_an_older_revision_is_refused_with_the_present_one(
    memory: Memory, shop: Shop
) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    memory.change("revise", first, body=body("Use Qdrant."), evidence=SAID)
    changes: list[tuple[str, Json]] = [
        ("revise", {"body": body("Other."), "evidence": SAID}),
        ("supersede", {"body": body("Other."), "evidence": SAID}),
        ("confirm", {"evidence": LATER}),
        ("forget", {}),
        ("link", {"target": {"id": first["id"], "revision": 2}, "relation": "supports"}),
    ]
    for action, fields in changes:
        error = refusal(memory.change, action, first, **fields)
        assert (error.code, error.details["current_revision"]) == ("revision_conflict", 2), action
    assert recalled(memory) == ["Use Qdrant."]


@pytest.mark.spec("R-046")
def test_a_record_that_is_not_there_is_not_found(memory: Memory, shop: Shop) -> None:
    nobody = {"id": "nobody", "revision": 1}
    assert refusal(memory.change, "forget", nobody).code == "not_found"
    assert refusal(memory.change, "revise", nobody, body=body(), evidence=SAID).code == "not_found"


@pytest.mark.spec("R-043")
def test_a_kind_never_changes(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    for action in ("revise", "supersede"):
        error = refusal(memory.change, action, first, body=fact(), evidence=ASKED)
        assert error.code == "invalid_argument"
        assert "decision" in error.message


@pytest.mark.spec("R-033", "R-034")
@pytest.mark.row(47)
def test_the_agents_decision_never_replaces_the_persons_but_gives_way_to_it(
    memory: Memory, shop: Shop
) -> None:
    persons = memory.established("Use Qdrant.")
    for action in ("revise", "supersede"):
        error = refusal(memory.change, action, persons, body=agents(), evidence=OWN)
        assert error.code == "decided_by_person"
    assert memory.get(persons["id"])["record"]["revision"] == 1
    own = memory.create(agents(), OWN)
    taken = memory.change("supersede", own, body=body("Keep one module."), evidence=SAID)
    assert memory.get(own["id"])["record"]["state"] == "superseded"
    assert "decided_by" not in memory.get(taken["id"])["record"]


@pytest.mark.spec("R-037")
@pytest.mark.parametrize(
    ("given", "retired"),
    [
        (body("Perhaps.", "candidate"), "withdrawn"),
        (
            {"statement": "Tabs.", "details": {"kind": "preference", "state": "active"}},
            "withdrawn",
        ),
        (fact(), "retracted"),
    ],
)
def test_a_wrong_candidate_is_corrected_withdrawn_or_forgotten(
    memory: Memory, shop: Shop, given: Json, retired: str
) -> None:
    first = memory.create(given, ASKED)
    better = memory.change("revise", first, body={**given, "statement": "B."}, evidence=ASKED)
    assert recalled(memory) == ["B."]
    gone = {**given, "details": {**given["details"], "state": retired}}
    withdrawn = memory.change("revise", better, body=gone, evidence=ASKED)
    assert recalled(memory) == []
    assert memory.change("forget", withdrawn)["forgotten"] is True
    assert refusal(memory.get, first["id"]).code == "forgotten"


@pytest.mark.spec("R-048", "R-051", "R-103")
def test_confirmations_count_messages_and_stay_with_their_revision(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")
    memory.clock.advance(DAY)
    once = memory.change("confirm", first, evidence=LATER, operation_id="again")
    assert (once["confirmations_added"], once["confirmations_total"]) == (1, 1)
    assert once["revision"] == 1
    message = memory.get(first["id"])["revisions"][0]["confirmation_history"]
    assert [entry["confirmed_at"] for entry in message] == [memory.clock.now]
    part = [{"session_id": "s-2", "quote": "Qdrant works well", "purpose": "endorsement"}]
    other = memory.change("confirm", first, evidence=part)
    assert (other["confirmations_added"], other["confirmations_total"]) == (0, 1)
    replayed = memory.change("confirm", first, evidence=LATER, operation_id="again")
    assert replayed == {**once, "replayed": True}
    second = memory.change("revise", first, body=body("Use Qdrant, all of us."), evidence=SAID)
    told = memory.get(first["id"], history=True)
    assert told["record"]["confirmations"] == 0
    assert [len(r["confirmation_history"]) for r in told["revisions"]] == [0, 1]
    assert second["revision"] == 2


@pytest.mark.spec("R-051")
def test_words_that_the_record_rests_on_already_confirm_nothing(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    assert memory.change("confirm", first, evidence=SAID)["confirmations_added"] == 0
    error = refusal(memory.change, "confirm", first, evidence=ASKED)
    assert error.code == "endorsement_required"


@pytest.mark.spec("R-051")
def test_the_agents_repetition_of_a_fact_does_not_confirm_it(memory: Memory, shop: Shop) -> None:
    given = fact("The parser is slow.", "established")
    shop.transcript.person("The parser is slow, I measured it.")
    cites = [{"session_id": "s-1", "quote": "The parser is slow, I measured it."}]
    first = memory.create(given, cites)
    shop.transcript.agent("As recorded: the parser is slow. The parser is slow.")
    echo = [{"session_id": "s-1", "quote": "As recorded", "purpose": "report"}]
    assert memory.change("confirm", first, evidence=echo)["confirmations_added"] == 0
    shop.transcript.agent("The profile shows 80 % of the time in the parser.")
    report = [{"session_id": "s-1", "quote": "80 % of the time", "purpose": "report"}]
    assert memory.change("confirm", first, evidence=report)["confirmations_added"] == 1


@pytest.mark.spec("R-051")
@pytest.mark.parametrize(
    "said",
    [
        "As I remember, the parser is SLOW.",
        "From memory: \u201cthe **parser** is   slow\u201d, so I looked there first.",
    ],
)
def test_a_repetition_in_other_letters_confirms_as_little(
    memory: Memory, shop: Shop, said: str
) -> None:
    shop.transcript.person("The parser is slow, I measured it.")
    cites = [{"session_id": "s-1", "quote": "The parser is slow, I measured it."}]
    first = memory.create(fact("The parser is slow.", "established"), cites)
    shop.transcript.agent(said)
    echo = [{"session_id": "s-1", "quote": said, "purpose": "report"}]
    assert memory.change("confirm", first, evidence=echo)["confirmations_added"] == 0


@pytest.mark.spec("R-049", "R-050", "R-101")
def test_supersede_retires_the_predecessor_and_links_to_it(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    second = memory.change("supersede", first, body=body("Use Milvus."), evidence=SAID)
    assert second["superseded"] == {"id": first["id"], "revision": 2}
    assert second["revision"] == 1
    third = memory.change("supersede", second, body=body("Use Qdrant."), evidence=SAID)
    assert third["id"] not in (first["id"], second["id"])
    assert recalled(memory) == ["Use Qdrant."]
    told = memory.get(second["id"])["links"]
    assert {(link["direction"], link["id"]) for link in told} == {
        ("outgoing", first["id"]),
        ("incoming", third["id"]),
    }
    old = memory.get(first["id"], history=True)["revisions"]
    assert [r["body"]["details"]["state"] for r in old] == ["superseded", "accepted"]
    assert old[0]["evidence"][0]["quote"] == CHOICE


@pytest.mark.spec("R-049")
def test_a_candidate_never_supersedes_what_is_established(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    error = refusal(
        memory.change, "supersede", first, body=body("Milvus?", "candidate"), evidence=ASKED
    )
    assert error.code == "established_required"


@pytest.mark.spec("R-052", "R-065", "R-179")
def test_forgetting_leaves_marks_without_content(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.", operation_id="saved")
    gone = memory.change("forget", first, operation_id="gone")
    assert gone["forgotten"] is True
    assert any("backup" in warning for warning in gone["warnings"])
    assert refusal(memory.candidate, "Perhaps Qdrant.", operation_id="saved").code == "forgotten"
    assert memory.change("forget", first, operation_id="gone") == {**gone, "replayed": True}
    assert refusal(memory.change, "forget", first).code == "forgotten"
    assert memory.count_records() == 0
    with memory.call.store.reading() as db:
        (row,) = db.all("SELECT status, request_key, receipt FROM receipts WHERE status <> 'done'")
    assert row == ("forgotten", None, None)
    assert memory.candidate("Perhaps Qdrant.")["reused"] is False


@pytest.mark.spec("R-052")
def test_the_persons_record_is_hidden_for_a_day_unless_they_ask(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.", operation_id="saved")
    hidden = memory.change("forget", first)
    assert hidden["removed_at"] == memory.clock.now + KEEP_HIDDEN_MS
    assert recalled(memory, include_review=True) == []
    assert statements(memory.pages(include_inactive=True)) == []
    assert refusal(memory.get, first["id"]).code == "forgotten"
    assert refusal(memory.established, "Use Qdrant.", operation_id="saved").code == "forgotten"
    assert refusal(memory.change, "revise", first, body=body(), evidence=SAID).code == "forgotten"
    memory.clock.advance(KEEP_HIDDEN_MS - 1)
    assert purge_hidden(memory.call_now()) == []
    back = memory.undo(first)
    assert back["record"]["id"] == first["id"]
    assert recalled(memory) == ["Use Qdrant."]


@pytest.mark.spec("R-052")
def test_what_stays_hidden_is_removed_after_a_day(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.", operation_id="saved")
    memory.change("forget", first)
    memory.clock.advance(KEEP_HIDDEN_MS)
    assert purge_hidden(memory.call_now()) == [first["id"]]
    assert memory.count_records() == 0
    late = refusal(memory.undo, first)
    assert late.code == "forgotten"
    assert refusal(memory.established, "Use Qdrant.", operation_id="saved").code == "forgotten"


@pytest.mark.spec("R-052")
@pytest.mark.parametrize("given", [agents(), fact()])
def test_what_the_person_did_not_establish_goes_at_once(
    memory: Memory, shop: Shop, given: Json
) -> None:
    first = memory.create(given, OWN)
    assert "removed_at" not in memory.change("forget", first)
    assert memory.count_records() == 0


@pytest.mark.spec("R-052")
def test_the_persons_record_goes_at_once_on_their_words(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    shop.transcript.person("Forget that Qdrant decision.")
    asked = [
        {"session_id": "s-1", "quote": "Forget that Qdrant decision.", "purpose": "endorsement"}
    ]
    assert "removed_at" not in memory.change("forget", first, evidence=asked)
    assert memory.count_records() == 0


def test_records_that_are_switched_off_can_still_be_forgotten(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    memory.set(records_enabled=False)
    error = refusal(memory.change, "revise", first, body=body(), evidence=SAID)
    assert error.code == "records_disabled"
    assert memory.change("forget", first)["forgotten"] is True


@pytest.mark.spec("R-053", "R-055", "R-059", "R-060", "R-085")
def test_a_contradiction_takes_both_records_out_of_recall(memory: Memory, shop: Shop) -> None:
    one, two = memory.established("Use Qdrant."), memory.established("Use Milvus.")
    assert set(recalled(memory)) == {"Use Qdrant.", "Use Milvus."}
    target = {"id": two["id"], "revision": 1}
    made = memory.change("link", one, target=target, relation="contradicts")
    assert (made["reused"], made["target"], made["relation"]) == (False, target, "contradicts")
    assert recalled(memory) == []
    shown = memory.recall(scope={"kind": "repository", "identity": SHOP}, include_review=True)
    assert [r["conflicted"] for r in shown["records"]] == [True, True]
    assert [r["confirmations"] for r in shown["records"]] == [0, 0]
    assert [link["direction"] for link in memory.get(one["id"])["links"]] == ["outgoing"]
    assert [link["direction"] for link in memory.get(two["id"])["links"]] == ["incoming"]
    again = memory.change("link", one, target=target, relation="contradicts")
    assert again["reused"] is True
    assert len(memory.get(one["id"])["links"]) == 1


@pytest.mark.spec("R-056", "R-057", "R-058")
def test_a_conflict_lasts_until_an_end_leaves_or_the_link_goes(memory: Memory, shop: Shop) -> None:
    one, two = memory.established("Use Qdrant."), memory.established("Use Milvus.")
    target = {"id": two["id"], "revision": 1}
    memory.change("link", one, target=target, relation="contradicts")
    one = memory.change("revise", one, body=body("Use Qdrant here."), evidence=SAID)
    assert recalled(memory) == []
    memory.change("unlink", one, target=target, relation="contradicts")
    assert len(recalled(memory)) == 2
    error = refusal(memory.change, "unlink", one, target=target, relation="contradicts")
    assert error.code == "not_found"
    memory.change("link", one, target=target, relation="contradicts")
    gone = body("Use Qdrant here.", state="withdrawn")
    one = memory.change("revise", one, body=gone, evidence=SAID)
    assert recalled(memory) == ["Use Milvus."]
    assert memory.get(two["id"])["links"][0]["active"] is False
    asked = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
    memory.change("forget", one, evidence=asked)
    assert memory.get(two["id"])["links"] == []


@pytest.mark.spec("R-054")
def test_only_current_records_of_one_scope_are_linked(memory: Memory, shop: Shop) -> None:
    one = memory.established("Use Qdrant.")
    personal = memory.established("Use Qdrant.", scope={"kind": "personal"})
    others = {
        "candidate": memory.candidate("Perhaps Milvus."),
        "scope": personal,
        "in force": memory.change(
            "revise",
            memory.candidate("Perhaps Faiss."),
            body=body("Perhaps Faiss.", "candidate", state="withdrawn"),
            evidence=ASKED,
        ),
    }
    for why, other in others.items():
        target = {"id": other["id"], "revision": other["revision"]}
        error = refusal(memory.change, "link", one, target=target, relation="supports")
        assert (error.code, error.details["end"]) == ("link_endpoint_invalid", "target")
        assert why in error.message
        source = refusal(
            memory.change,
            "link",
            other,
            target={"id": one["id"], "revision": 1},
            relation="supports",
        )
        assert source.code == "link_endpoint_invalid"
    itself = {"id": one["id"], "revision": 1}
    error = refusal(memory.change, "link", one, target=itself, relation="supports")
    assert error.code == "invalid_argument"
    stale = {"id": personal["id"], "revision": 7}
    error = refusal(memory.change, "link", one, target=stale, relation="supports")
    assert (error.code, error.details["id"]) == ("revision_conflict", personal["id"])


@pytest.mark.spec("R-061", "R-062")
def test_a_retried_change_has_its_first_receipt_whatever_happened_since(
    memory: Memory, shop: Shop
) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    fields: Json = {"body": body("Use Qdrant."), "evidence": SAID}
    second = memory.change("revise", first, operation_id="r", **fields)
    memory.change("revise", second, body=body("Use Qdrant now."), evidence=SAID)
    assert memory.change("revise", first, operation_id="r", **fields) == {
        **second,
        "replayed": True,
    }
    other = {**fields, "body": body("Use Milvus.")}
    error = refusal(memory.change, "revise", first, operation_id="r", **other)
    assert error.code == "operation_conflict"


@pytest.mark.spec("R-046", "R-061")
def test_of_changes_at_once_one_wins_and_the_others_hear_the_present_revision(
    memory: Memory, shop: Shop
) -> None:
    first = memory.candidate("Perhaps Qdrant.")

    def revise(number: int) -> Json | MashError:
        try:
            return memory.change("revise", first, body=body(f"Way {number}."), evidence=SAID)
        except MashError as error:
            return error

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(revise, range(8)))
    errors = [o for o in outcomes if isinstance(o, MashError)]
    assert len(errors) == 7
    assert {(e.code, e.details["current_revision"]) for e in errors} == {("revision_conflict", 2)}
    assert memory.get(first["id"])["record"]["revision"] == 2


@pytest.mark.spec("R-176")
def test_no_change_takes_private_text_or_a_credential(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    secret = body("Use <private>the blue vault</private>.", "candidate")
    for action in ("revise", "supersede"):
        error = refusal(memory.change, action, first, body=secret, evidence=ASKED)
        assert error.code == "private_text"
    quote = [{"session_id": "s-1", "quote": "<private>x</private>"}]
    assert refusal(memory.change, "confirm", first, evidence=quote).code == "private_text"
    assert refusal(memory.change, "forget", first, evidence=quote).code == "private_text"


@pytest.mark.row(46)
def test_a_bare_approval_changes_nothing_without_its_proposal(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    shop.transcript.agent("Shall I forget the Qdrant decision?")
    shop.transcript.person("yes")
    bare = [{"session_id": "s-1", "quote": "yes", "purpose": "endorsement"}]
    assert refusal(memory.change, "forget", first, evidence=bare).code == "evidence_required"
    assert refusal(memory.change, "confirm", first, evidence=bare).code == "evidence_required"
    proposal = {"session_id": "s-1", "quote": "Shall I forget the Qdrant decision?"}
    assert "removed_at" not in memory.change("forget", first, evidence=[*bare, proposal])


def test_what_the_person_did_not_say_is_no_reason_to_change_their_choice(
    memory: Memory, shop: Shop
) -> None:
    first = memory.established("Use Qdrant.")
    for review, state in (("established", "proposed"), ("candidate", "accepted")):
        changed = body("Use Qdrant.", review, state=state)
        error = refusal(memory.change, "revise", first, body=changed, evidence=ASKED)
        assert error.code == "endorsement_required"
    offered = [{"session_id": "s-1", "quote": PROPOSAL, "purpose": "endorsement"}]
    error = refusal(memory.change, "revise", first, body=body("Q."), evidence=offered)
    assert error.code == "endorsement_not_by_person"


@pytest.mark.spec("R-033", "R-055")
@pytest.mark.row(47)
def test_an_agents_choice_is_never_linked_against_the_persons(memory: Memory, shop: Shop) -> None:
    persons, own = memory.established("Use Qdrant."), memory.create(agents(), OWN)
    for one, other in ((persons, own), (own, persons)):
        target = {"id": other["id"], "revision": 1}
        error = refusal(memory.change, "link", one, target=target, relation="contradicts")
        assert error.code == "decided_by_person"
    assert "Use Qdrant." in recalled(memory)
