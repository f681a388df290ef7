"""The person's own hand: what it does to records, and what it takes back of a session."""

from typing import Any

import pytest

from mash_plugin.daemon.methods import COMMANDS, TOOLS
from mash_plugin.errors import (
    ChatNotFound,
    CredentialText,
    Forgotten,
    InvalidArgument,
    InvalidState,
    InvalidTransition,
    MashError,
    NotFound,
    PrivateText,
    RecordsDisabled,
    RevisionConflict,
)
from mash_plugin.memory import log, terminal
from mash_plugin.memory.freshness import recheck
from mash_plugin.memory.withdraw_session import withdraw_session
from mash_plugin.protocol import tool_schemas, validate
from mash_plugin.protocol.commands import COMMANDS as REQUESTS
from tests.conftest import CHOICE, QUESTION, SPLIT, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript

CHOSEN = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
KEPT = [{"session_id": "s-2", "quote": "Qdrant works well, keep it.", "purpose": "endorsement"}]


def ask(memory: Memory, method: str, **request: Any) -> Json:
    """Call a command's method as the daemon does."""
    run = {
        "log_events": log.log_events,
        "terminal_show": terminal.show,
        "terminal_hidden": terminal.list_hidden,
        "terminal_change": terminal.change,
        "terminal_withdraw": withdraw_session,
    }[method]
    call = memory.call_now()
    return run(call, validate(method, request, REQUESTS))


def by_hand(memory: Memory, action: str, record_id: str, **request: Any) -> Json:
    """What a command does after a yes."""
    told = ask(memory, "terminal_change", action=action, id=record_id, **request)
    assert told["done"] is False
    at = {"id": told["record"]["id"], "revision": told["record"]["revision"]}
    return ask(memory, "terminal_change", action=action, **at, **request)


def take_back(memory: Memory, session_id: str) -> Json:
    told = ask(memory, "terminal_withdraw", session_id=session_id)
    return ask(memory, "terminal_withdraw", session_id=told["session_id"], digest=told["digest"])


def revise(memory: Memory, record_id: str, revision: int, body: Json, evidence: list[Json]) -> Json:
    change = {"action": "revise", "expected": {"id": record_id, "revision": revision}}
    operation = f"revision-{next(memory.numbers)}"
    change |= {"body": body, "evidence": evidence}
    return memory.record({"operation_id": operation, "change": change})


def decision(statement: str, state: str = "accepted", **details: str) -> Json:
    return {
        "statement": statement,
        "review": "established",
        "details": {"kind": "decision", "state": state, **details},
    }


def hide(memory: Memory, record_id: str, session_id: str | None = None) -> None:
    memory.come_from(session_id=session_id)
    change = {"action": "forget", "expected": {"id": record_id, "revision": 1}}
    memory.record({"operation_id": f"forget-{next(memory.numbers)}", "change": change})
    memory.come_from()


@pytest.mark.spec("R-035")
def test_a_candidate_is_established_without_new_words_and_the_history_says_by_whom(
    memory: Memory, shop: Shop
) -> None:
    made = memory.candidate("Use Qdrant.")
    done = by_hand(memory, "establish", made["id"])
    assert done["record"]["status"] == "current"
    whole = memory.get(made["id"], history=True)
    newest, first = whole["revisions"]
    assert newest["origin"] == "by the person at the terminal"
    assert "origin" not in first
    assert newest["body"]["details"]["state"] == "accepted"
    assert newest["evidence"] == first["evidence"]
    assert memory.recall(scope=whole["record"]["scope"])["records"][0]["id"] == made["id"]


def test_an_agents_decision_becomes_the_persons(memory: Memory, shop: Shop) -> None:
    evidence = [{"session_id": "s-1", "quote": SPLIT, "purpose": "context"}]
    made = memory.create(decision("Split the index code.", decided_by="agent"), evidence)
    assert by_hand(memory, "establish", made["id"])["record"]["decided_by"] == "person"
    with pytest.raises(MashError) as caught:
        revise(memory, made["id"], 2, decision("Join it.", decided_by="agent"), evidence)
    assert caught.value.code == "decided_by_person"
    with pytest.raises(InvalidState, match="established already"):
        by_hand(memory, "establish", made["id"])


def test_what_was_established_by_hand_is_held_against_agents_like_any_other(
    memory: Memory, shop: Shop
) -> None:
    made = memory.candidate("Use Qdrant.")
    by_hand(memory, "establish", made["id"])
    lowered = {"statement": "Maybe.", "details": {"kind": "decision", "state": "proposed"}}
    with pytest.raises(MashError) as caught:
        revise(memory, made["id"], 2, lowered, [{"session_id": "s-1", "quote": QUESTION}])
    assert caught.value.code == "endorsement_required"


def test_an_edit_keeps_citations_and_standing(memory: Memory, shop: Shop) -> None:
    made = memory.established("Use Qdrant.")
    told = ask(memory, "terminal_change", action="edit", id=made["id"])
    assert told["record"]["statement"] == "Use Qdrant."
    by_hand(memory, "edit", made["id"], statement="Use Qdrant for local search.")
    newest, first = memory.get(made["id"], history=True)["revisions"]
    assert newest["body"]["statement"] == "Use Qdrant for local search."
    assert newest["body"]["recorded_by"] == "the person at the terminal"
    assert newest["body"]["review"] == "established"
    assert newest["evidence"] == first["evidence"]
    with pytest.raises(InvalidArgument, match="same as before"):
        by_hand(memory, "edit", made["id"], statement="Use Qdrant for local search.")


@pytest.mark.spec("R-025", "R-026")
@pytest.mark.parametrize("by", ["establish", "edit"])
def test_what_changed_quotes_took_out_of_force_comes_back_by_hand(
    memory: Memory, shop: Shop, by: str
) -> None:
    """The first wording keeps its changed quotes; what is settled by hand does not need them."""
    made = memory.established("Use Qdrant.")
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    recheck(memory.call, memory.index())
    asked = {"statement": "Use Qdrant 2."} if by == "edit" else {}
    told = ask(memory, "terminal_change", action=by, id=made["id"], **asked)
    assert told["record"]["status"] == "stale_evidence"
    assert told["becomes"]["evidence"] == "by_hand"
    assert by_hand(memory, by, made["id"], **asked)["record"]["status"] == "current"
    again = ask(memory, "terminal_change", action=by, id=made["id"], revision=1, **asked)
    assert again["done"]  # the first answer was lost
    newest, first = memory.get(made["id"], history=True)["revisions"]
    assert newest["evidence"] == []
    assert first["evidence"][0]["status"] == "changed"
    assert recheck(memory.call, ["claude-code-s-1"]) == 0
    scope = memory.get(made["id"])["record"]["scope"]
    assert [r["id"] for r in memory.recall(scope=scope)["records"]] == [made["id"]]


def test_the_quotes_that_still_stand_stay_with_what_is_settled_by_hand(
    memory: Memory, shop: Shop
) -> None:
    also = {"session_id": "s-1", "quote": QUESTION, "purpose": "context"}
    made = memory.create(decision("Use Qdrant."), [*CHOSEN, also])
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    recheck(memory.call, memory.index())
    by_hand(memory, "establish", made["id"])
    (kept,) = memory.get(made["id"])["revisions"][0]["evidence"]
    assert kept["quote"] == QUESTION


def test_an_edit_that_settles_nothing_leaves_changed_quotes_and_says_so(
    memory: Memory, shop: Shop
) -> None:
    made = memory.candidate("Use Qdrant.")
    shop.transcript.rewrite(QUESTION, "Another question?")
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    recheck(memory.call, memory.index())
    told = ask(memory, "terminal_change", action="edit", id=made["id"], statement="Use it.")
    assert told["becomes"]["evidence"] == "stale"
    done = by_hand(memory, "edit", made["id"], statement="Use it.")
    assert done["record"]["status"] == "stale_evidence"
    with pytest.raises(InvalidArgument, match="`mash establish ID` brings it back"):
        ask(memory, "terminal_change", action="edit", id=made["id"], statement="Use it.")
    assert by_hand(memory, "establish", made["id"])["record"]["status"] == "current"


@pytest.mark.spec("R-176", "R-177")
def test_an_edit_takes_no_credential_and_no_private_text(memory: Memory, shop: Shop) -> None:
    shop.transcript.person("<private>the vault code is 4711 at Ulm</private> Go on.")
    made = memory.established("Use Qdrant.")
    for statement, refusal in (
        (f"The key is ghp_{'a1B2' * 9}.", CredentialText),
        ("It is <private>mine</private>.", PrivateText),
        ("Note: the vault code is 4711 at Ulm", PrivateText),
    ):
        with pytest.raises(refusal):
            by_hand(memory, "edit", made["id"], statement=statement)
    assert memory.get(made["id"])["record"]["revision"] == 1


def test_a_record_is_withdrawn_once(memory: Memory, shop: Shop) -> None:
    made = memory.established("Use Qdrant.")
    assert by_hand(memory, "withdraw", made["id"])["record"]["state"] == "withdrawn"
    for action in ("withdraw", "establish"):
        with pytest.raises(InvalidTransition, match="withdrawn"):
            by_hand(memory, action, made["id"])
    edited = by_hand(memory, "edit", made["id"], statement="We used Qdrant.")
    assert edited["record"]["state"] == "withdrawn"


def test_a_fact_is_retracted(memory: Memory, shop: Shop) -> None:
    fact = {"kind": "fact", "state": "current", "reported_by": "the person"}
    made = memory.create({"statement": "Ulm has a store.", "details": fact}, CHOSEN)
    assert by_hand(memory, "establish", made["id"])["record"]["review"] == "established"
    assert by_hand(memory, "withdraw", made["id"])["record"]["state"] == "retracted"


@pytest.mark.spec("R-046", "R-052")
def test_forgetting_by_hand_is_at_once_and_at_any_revision(memory: Memory, shop: Shop) -> None:
    made = memory.established("Use Qdrant.")
    told = ask(memory, "terminal_change", action="forget", id=made["id"])
    by_hand(memory, "edit", made["id"], statement="Use Qdrant, please.")
    forget = {"action": "forget", "id": made["id"], "revision": told["record"]["revision"]}
    for _ in range(2):  # a lost answer is asked for again
        assert ask(memory, "terminal_change", **forget)["done"]
    with pytest.raises(Forgotten):
        memory.get(made["id"])
    with pytest.raises(Forgotten):
        ask(memory, "terminal_show", id=made["id"])


@pytest.mark.spec("R-052")
def test_what_an_agent_hid_comes_back(memory: Memory, shop: Shop) -> None:
    made = memory.established("Use Qdrant.")
    with pytest.raises(InvalidState, match="not hidden"):
        by_hand(memory, "undo", made["id"])
    hide(memory, made["id"])
    (hidden,) = ask(memory, "terminal_hidden")["records"]
    assert hidden["record"]["statement"] == "Use Qdrant."
    assert hidden["removed_at"] == memory.clock.now + 86_400_000
    with pytest.raises(Forgotten, match="mash undo"):
        by_hand(memory, "edit", made["id"], statement="Use it.")
    by_hand(memory, "undo", made["id"])
    assert memory.get(made["id"])["record"]["status"] == "current"
    assert ask(memory, "terminal_hidden")["records"] == []


@pytest.mark.spec("R-052")
@pytest.mark.row(39)
def test_a_clock_that_was_set_back_hides_nothing_from_the_person(
    memory: Memory, shop: Shop
) -> None:
    made = memory.established("Use Qdrant.")
    hide(memory, made["id"])
    memory.clock.advance(-86_400_000)
    assert [one["record"]["id"] for one in ask(memory, "terminal_hidden")["records"]] == [
        made["id"]
    ]
    back = {"action": "undo", "id": made["id"], "revision": 1}
    assert ask(memory, "terminal_change", **back)["record"]["id"] == made["id"]


def test_a_change_that_was_shown_on_an_older_revision_is_refused_and_a_retry_is_not(
    memory: Memory, shop: Shop
) -> None:
    made = memory.candidate("Use Qdrant.")
    request = {"action": "establish", "id": made["id"], "revision": 1}
    assert ask(memory, "terminal_change", **request)["record"]["revision"] == 2
    assert ask(memory, "terminal_change", **request)["record"]["revision"] == 2
    with pytest.raises(RevisionConflict):
        ask(memory, "terminal_change", action="withdraw", id=made["id"], revision=1)


def test_switched_off_records_can_be_withdrawn_and_forgotten_alone(
    memory: Memory, shop: Shop
) -> None:
    made, other = memory.candidate("Use Qdrant."), memory.candidate("Use Milvus.")
    memory.set(records_enabled=False)
    for action in ("establish", "edit"):
        with pytest.raises(RecordsDisabled):
            ask(memory, "terminal_change", action=action, id=made["id"])
    by_hand(memory, "withdraw", made["id"])
    by_hand(memory, "forget", other["id"])


def test_a_left_out_project_is_neither_shown_nor_changed(memory: Memory, shop: Shop) -> None:
    made = memory.established("Use Qdrant.")
    memory.set(deny=("github.com/acme/shop",))
    with pytest.raises(RecordsDisabled):
        by_hand(memory, "establish", made["id"])
    told = ask(memory, "terminal_change", action="forget", id=made["id"])
    assert "Qdrant" not in str(told)
    assert "Qdrant" not in str(ask(memory, "terminal_withdraw", session_id="s-1"))
    assert ask(memory, "log_events", ago_ms=1_000)["events"] == []


def test_the_beginning_of_an_id_is_enough_where_it_fits_one(memory: Memory, shop: Shop) -> None:
    ids = iter(["aaaaaaaa1", "aaaaaaaa2", "bbbbbbbb1"])
    memory.call = memory.call._replace(new_id=lambda: next(ids))
    for statement in ("One.", "Two.", "Three."):
        memory.candidate(statement)
    assert ask(memory, "terminal_show", id="bbbbbbbb")["record"]["statement"] == "Three."
    assert ask(memory, "terminal_show", id="aaaaaaaa2")["record"]["statement"] == "Two."
    with pytest.raises(InvalidArgument, match="aaaaaaaa1, aaaaaaaa2"):
        ask(memory, "terminal_show", id="aaaaaaaa")
    with pytest.raises(InvalidArgument, match="at least 8"):
        ask(memory, "terminal_show", id="bbbb")
    with pytest.raises(NotFound, match="mash records"):
        ask(memory, "terminal_show", id="cccccccc")


def test_a_record_tells_which_session_saved_each_revision(memory: Memory, shop: Shop) -> None:
    made = memory.candidate("Use Qdrant.")
    by_hand(memory, "establish", made["id"])
    assert ask(memory, "terminal_show", id=made["id"])["sessions"] == {"1": "s-1"}


def test_everything_that_a_session_saved_is_taken_back(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    own = memory.established("Use Qdrant.")  # session s-1
    hidden = memory.established("Keep the index small.")
    replaced = memory.established("Deploy on Fridays.")
    made = memory.create(decision("Use Milvus."), KEPT)  # session s-2, all that follows
    other = memory.create(decision("Keep logs."), KEPT)
    revise(memory, own["id"], 1, decision("Use Milvus instead."), KEPT)
    memory.come_from(session_id="s-2")
    expected = {"id": replaced["id"], "revision": 1}
    change: Json = {"action": "supersede", "expected": expected, "evidence": KEPT}
    change["body"] = decision("Deploy at night.")
    memory.record({"operation_id": "supersede", "change": change})
    ends = {"expected": {"id": made["id"], "revision": 1}}
    ends["target"] = {"id": other["id"], "revision": 1}
    link = {"action": "link", "relation": "contradicts", **ends}
    memory.record({"operation_id": "link", "change": link})
    hide(memory, hidden["id"], "s-2")
    with pytest.raises(RevisionConflict, match="changed"):
        ask(memory, "terminal_withdraw", session_id="s-2", digest="0" * 64)

    told = ask(memory, "terminal_withdraw", session_id="s-2")
    assert (told["links"], told["confirmations"]) == (2, 0)
    assert told["brought_back"] == [hidden["id"]]
    steps = {step["id"]: step for step in told["records"]}
    assert steps[own["id"]]["restored_statement"] == "Use Qdrant."
    assert steps[replaced["id"]]["restored_state"] == "accepted"
    assert [s["action"] for s in told["records"]].count("withdraw") == 3

    take_back(memory, "s-2")
    for record_id, statement in (
        (own["id"], "Use Qdrant."),
        (replaced["id"], "Deploy on Fridays."),
    ):
        whole = memory.get(record_id)
        assert whole["record"]["status"] == "current"
        assert whole["record"]["statement"] == statement
        assert whole["links"] == []
        assert whole["revisions"][0]["origin"] == "by the person at the terminal"
        assert whole["revisions"][0]["evidence"][0]["quote"] == CHOICE
    assert memory.get(hidden["id"])["record"]["status"] == "current"
    for record_id in (made["id"], other["id"]):
        assert memory.get(record_id)["record"]["state"] == "withdrawn"
    again = ask(memory, "terminal_withdraw", session_id="s-2")
    assert {step["action"] for step in again["records"]} == {"keep"}


def supersede(
    memory: Memory, record_id: str, statement: str, evidence: list[Json], session: str
) -> str:
    """Put another decision in the place of a record at revision 1; its ID."""
    memory.come_from(session_id=session)
    change = {
        "action": "supersede",
        "expected": {"id": record_id, "revision": 1},
        "body": decision(statement),
        "evidence": evidence,
    }
    made = memory.record({"operation_id": f"supersede-{next(memory.numbers)}", "change": change})
    memory.come_from()
    return str(made["id"])


def test_a_whole_chain_of_a_sessions_choices_gives_way_to_the_one_before(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")["id"]
    second = supersede(memory, first, "Use Milvus.", KEPT, "s-2")
    third = supersede(memory, second, "Use Chroma.", KEPT, "s-2")
    take_back(memory, "s-2")
    assert memory.get(first)["record"]["status"] == "current"
    assert memory.get(second)["record"]["state"] == "superseded"
    assert memory.get(third)["record"]["state"] == "withdrawn"


def test_no_choice_comes_back_beside_what_others_put_in_its_place_since(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")["id"]
    second = supersede(memory, first, "Use Milvus.", KEPT, "s-2")
    third = supersede(memory, second, "Use Chroma.", CHOSEN, "s-1")
    take_back(memory, "s-2")
    assert memory.get(first)["record"]["state"] == "superseded"
    assert memory.get(first)["links"][0]["id"] == second
    assert memory.get(third)["record"]["status"] == "current"
    by_hand(memory, "withdraw", third)
    take_back(memory, "s-2")
    assert memory.get(first)["record"]["status"] == "current"


@pytest.mark.spec("R-051")
def test_the_confirmations_of_a_session_go_and_those_of_others_stay(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    shop.transcript.person("Qdrant was the right choice.")
    made = memory.established("Use Qdrant.")
    said = {"s-1": "Qdrant was the right choice.", "s-2": "Qdrant works well, keep it."}
    for session_id, quote in said.items():
        citation = {"session_id": session_id, "quote": quote, "purpose": "endorsement"}
        change = {
            "action": "confirm",
            "expected": {"id": made["id"], "revision": 1},
            "evidence": [citation],
        }
        memory.clock.advance(1)
        memory.record({"operation_id": session_id, "change": change})
    assert memory.get(made["id"])["record"]["confirmations"] == 2
    assert ask(memory, "terminal_withdraw", session_id="s-2")["confirmations"] == 1
    take_back(memory, "s-2")
    whole = memory.get(made["id"])
    assert whole["record"]["confirmations"] == 1
    assert [e["quote"] for e in whole["revisions"][0]["evidence"]] == [CHOICE, said["s-1"]]


def test_a_record_that_others_reworded_since_is_kept(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    made = memory.create(decision("Use Milvus."), KEPT)
    by_hand(memory, "edit", made["id"], statement="Use Milvus in tests.")
    assert take_back(memory, "s-2")["records"][0]["action"] == "keep"
    assert memory.get(made["id"])["record"]["revision"] == 2


def test_a_chat_names_its_session_and_so_does_the_beginning_of_its_id(
    memory: Memory, shop: Shop
) -> None:
    shop.transcript.__class__(
        memory.claude_root, str(memory.projects / "w" / "shop"), "long-session-1"
    ).person(CHOICE)
    memory.index()
    memory.create(
        decision("Use it."),
        [{"session_id": "long-session-1", "quote": CHOICE, "purpose": "endorsement"}],
    )
    told = ask(memory, "terminal_withdraw", chat_id="claude-code-long-session-1")
    assert told["session_id"] == "long-session-1"
    assert ask(memory, "terminal_withdraw", session_id="long-ses") == told
    with pytest.raises(ChatNotFound, match="mash chats"):
        ask(memory, "terminal_withdraw", chat_id="claude-code-nowhere")
    with pytest.raises(NotFound, match="saved nothing"):
        ask(memory, "terminal_withdraw", session_id="nobody-here")
    with pytest.raises(InvalidArgument, match="either"):
        ask(memory, "terminal_withdraw")


def test_the_log_tells_what_was_saved_newest_first_and_pages_advance(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    made = memory.established("Use Qdrant.")
    start = memory.clock.now
    memory.clock.advance(10)
    by_hand(memory, "edit", made["id"], statement="Use Qdrant 2.")
    gone = memory.candidate("Nothing.")
    memory.clock.advance(10)
    by_hand(memory, "forget", gone["id"])
    told = ask(memory, "log_events", since=start)
    assert [(e["event"], e.get("statement")) for e in told["events"]] == [
        ("forgotten", None),
        ("saved", "Use Qdrant 2."),
        ("saved", "Use Qdrant."),
    ]
    assert [e.get("origin") for e in told["events"]] == ["terminal", "terminal", "tool"]
    assert told["events"][2]["session_id"] == "s-1"
    pages, offset = [], 0
    while offset is not None:
        page = ask(memory, "log_events", since=start, limit=1, offset=offset)
        pages += page["events"]
        offset = page["next_offset"]
    assert pages == told["events"]
    assert ask(memory, "log_events", since=start + 1)["events"] == told["events"][:2]


@pytest.mark.spec("R-177")
def test_the_log_is_masked(memory: Memory, shop: Shop) -> None:
    memory.established("Use Qdrant.")
    memory.set(extra_patterns=("Qdr[a-z]+",))
    (event,) = ask(memory, "log_events", ago_ms=1_000)["events"]
    assert event["statement"] == "Use [masked]."


def test_no_tool_leads_to_the_persons_authority() -> None:
    assert set(COMMANDS) == set(REQUESTS)
    assert not set(COMMANDS) & set(TOOLS)
    assert not {tool["name"] for tool in tool_schemas()} & set(COMMANDS)


def test_a_forgotten_chat_stands_in_the_log_without_its_name(memory: Memory, shop: Shop) -> None:
    with memory.call.store.writing() as db:
        db.run("INSERT INTO chat_tombstones VALUES (x'00', :now)", {"now": memory.clock.now})
    assert ask(memory, "log_events", ago_ms=0)["events"] == [
        {"at": memory.clock.now, "event": "chat_forgotten"}
    ]
