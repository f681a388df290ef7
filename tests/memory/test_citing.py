"""Citations: whose words are found, in which message, and what is said when they are not."""

import pytest

from mash_plugin.errors import (
    EndorsementNotByPerson,
    EndorsementRequired,
    EvidenceRequired,
    Forgotten,
    MashError,
    MessageNotFound,
    QuoteNotFound,
    SessionNotFound,
)
from mash_plugin.memory.cite import FLUSH_WAITS_S
from tests.conftest import CHOICE, PROPOSAL, QUESTION, SPLIT, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript, CodexTranscript

ACCEPTED: Json = {
    "statement": "Use Qdrant for local search.",
    "review": "established",
    "details": {"kind": "decision", "state": "accepted"},
}
CANDIDATE: Json = {**ACCEPTED, "review": "candidate"}


def endorsed(quote: str, session_id: str = "s-1") -> list[Json]:
    return [{"session_id": session_id, "quote": quote, "purpose": "endorsement"}]


def decided(statement: str) -> Json:
    return {**ACCEPTED, "statement": statement}


def first_evidence(memory: Memory, receipt: Json) -> Json:
    evidence: list[Json] = memory.get(receipt["id"])["revisions"][0]["evidence"]
    return evidence[0]


@pytest.mark.spec("R-014", "R-063")
@pytest.mark.row(43)
def test_a_wrong_quote_saves_nothing_and_the_operation_can_be_corrected(
    memory: Memory, shop: Shop
) -> None:
    with pytest.raises(QuoteNotFound) as caught:
        memory.create(
            ACCEPTED,
            [
                {"session_id": "s-1", "quote": PROPOSAL},
                *endorsed("Yes, let's use Qdrent."),
            ],
            operation_id="x",
        )
    assert caught.value.details["citation"] == 1
    assert memory.count_records() == 0
    assert memory.create(ACCEPTED, endorsed(CHOICE), operation_id="x")["replayed"] is False


@pytest.mark.spec("R-014")
def test_the_words_of_the_source_are_kept(memory: Memory, shop: Shop) -> None:
    shop.transcript.person("Let\u2019s  keep\u00a0it \u2014 \u201cfor good\u201d.")
    receipt = memory.create(ACCEPTED, endorsed('Let\'s keep it - "for good".'))
    assert first_evidence(memory, receipt)["quote"] == (
        "Let\u2019s  keep\u00a0it \u2014 \u201cfor good\u201d."
    )


@pytest.mark.spec("R-014")
@pytest.mark.row(43)
def test_words_of_two_messages_are_no_quote(memory: Memory, shop: Shop) -> None:
    with pytest.raises(QuoteNotFound):
        memory.create(CANDIDATE, [{"session_id": "s-1", "quote": f"{QUESTION} {PROPOSAL}"}])


@pytest.mark.spec("R-013")
@pytest.mark.row(43)
def test_a_quote_of_another_message_is_not_found_in_this_one(memory: Memory, shop: Shop) -> None:
    memory.index()
    with pytest.raises(QuoteNotFound):
        memory.create(CANDIDATE, [{"message_id": shop.question, "quote": PROPOSAL}])
    assert memory.waited == []


@pytest.mark.spec("R-015")
def test_an_unknown_session_or_message_is_named(memory: Memory, shop: Shop) -> None:
    with pytest.raises(SessionNotFound, match="s-77"):
        memory.create(CANDIDATE, [{"session_id": "s-77", "quote": QUESTION}])
    with pytest.raises(MessageNotFound, match="nothing-here"):
        memory.create(CANDIDATE, [{"message_id": "nothing-here", "quote": QUESTION}])


@pytest.mark.spec("R-015")
@pytest.mark.parametrize("session_id", ["../../s-1", "/etc/passwd", "projects/s-1"])
def test_a_session_id_is_never_a_path(memory: Memory, shop: Shop, session_id: str) -> None:
    with pytest.raises(MashError) as caught:
        memory.create(CANDIDATE, [{"session_id": session_id, "quote": QUESTION}])
    assert caught.value.code in ("session_not_found", "quote_not_found", "invalid_argument")
    assert memory.count_records() == 0


@pytest.mark.spec("R-016")
def test_the_newest_message_with_the_quote_is_cited(memory: Memory, shop: Shop) -> None:
    shop.transcript.agent(SPLIT)
    newest = shop.transcript.agent(SPLIT)
    receipt = memory.create(CANDIDATE, [{"session_id": "s-1", "quote": SPLIT}])
    assert first_evidence(memory, receipt)["message_id"] == newest


@pytest.mark.spec("R-016")
@pytest.mark.row(44)
def test_tool_calls_and_their_results_are_not_searched(memory: Memory, shop: Shop) -> None:
    shop.transcript.tool_call("record", {"quote": "Only here."}, "toolu_9")
    shop.transcript.tool_result("Only here.", "toolu_9")
    with pytest.raises(QuoteNotFound):
        memory.create(CANDIDATE, [{"session_id": "s-1", "quote": "Only here."}])


@pytest.mark.spec("R-017")
def test_an_endorsement_is_found_behind_those_who_repeat_it(memory: Memory, shop: Shop) -> None:
    shop.transcript.agent(CHOICE)
    shop.transcript.tool_result(CHOICE)
    receipt = memory.create(ACCEPTED, endorsed(CHOICE))
    assert first_evidence(memory, receipt)["message_id"] == shop.choice


@pytest.mark.spec("R-017", "R-018", "R-022")
@pytest.mark.parametrize("who", ["agent", "tool_result", "headless", "notification"])
@pytest.mark.row(44)
def test_what_the_person_did_not_type_endorses_nothing(
    memory: Memory, shop: Shop, who: str
) -> None:
    getattr(shop.transcript, who)("Let's use Milvus instead.")
    with pytest.raises(EndorsementNotByPerson):
        memory.create(ACCEPTED, endorsed("Let's use Milvus instead."))
    with pytest.raises(EndorsementNotByPerson):
        memory.create(CANDIDATE, endorsed("Let's use Milvus instead."))
    assert memory.count_records() == 0


@pytest.mark.spec("R-018")
@pytest.mark.parametrize(
    "prompt",
    [
        "Look:\n```\nLet's use Milvus instead.\n```\nWhat is it?",
        "> Let's use Milvus instead.\nWhat is it?",
        "<pasted_content>Let's use Milvus instead.</pasted_content> What is it?",
    ],
)
@pytest.mark.row(44)
def test_pasted_fenced_and_quoted_text_is_not_the_persons_own(
    memory: Memory, shop: Shop, prompt: str
) -> None:
    shop.transcript.person(prompt)
    with pytest.raises(EndorsementNotByPerson):
        memory.create(ACCEPTED, endorsed("Let's use Milvus instead."))
    memory.create(CANDIDATE, [{"session_id": "s-1", "quote": "Let's use Milvus instead."}])


REPORTED = "We decided that ships carry lanterns."
AROUND = f'The harbour master wrote: "{REPORTED}" Is that wise?'


@pytest.mark.spec("R-018", "R-029")
@pytest.mark.row(44)
def test_what_the_person_only_tells_of_somebody_settles_nothing(memory: Memory, shop: Shop) -> None:
    message_id = shop.transcript.person(AROUND)
    memory.index()
    for body in (ACCEPTED, CANDIDATE):
        for which in ({"session_id": "s-1"}, {"message_id": message_id}):
            with pytest.raises(EndorsementNotByPerson) as caught:
                memory.create(body, [{**which, "quote": REPORTED, "purpose": "endorsement"}])
            assert "around the marks" not in caught.value.message, "that would be the way around"
            assert "Ask the person whether they say so too" in caught.value.message
    fact = {"kind": "fact", "state": "current", "reported_by": "the harbour master"}
    cited = [{"session_id": "s-1", "quote": REPORTED}]
    told = {"statement": "Ships carry lanterns.", "review": "established", "details": fact}
    with pytest.raises(EndorsementRequired, match="not between quotation marks alone"):
        memory.create(told, cited)
    assert memory.waited == [], "what was typed was known at once"
    assert memory.create({**told, "review": "candidate"}, cited)["revision"] == 1
    assert memory.create(CANDIDATE, cited)["revision"] == 1


@pytest.mark.spec("R-018", "R-029")
def test_a_quoted_wording_is_the_persons_with_words_around_it_or_said_again(
    memory: Memory, shop: Shop
) -> None:
    shop.transcript.person('Remember: "always carry a lantern"')
    assert memory.create(ACCEPTED, endorsed('Remember: "always carry a lantern"'))["revision"] == 1
    agreed = shop.transcript.person(f"{REPORTED} So be it.")
    shop.transcript.person(AROUND)
    found = first_evidence(memory, memory.create(decided(REPORTED), endorsed(REPORTED)))
    assert found["message_id"] == agreed


@pytest.mark.spec("R-029", "R-051")
def test_no_change_of_a_settled_record_rests_on_what_the_person_only_tells(
    memory: Memory, shop: Shop
) -> None:
    made = memory.established("Ships carry no lanterns.")
    shop.transcript.person(AROUND)
    at = {"expected": {"id": made["id"], "revision": 1}, "evidence": endorsed(REPORTED)}
    changes: list[Json] = [
        {"action": "revise", "body": ACCEPTED},
        {"action": "supersede", "body": ACCEPTED},
        {"action": "confirm"},
        {"action": "forget"},
    ]
    for change in changes:
        request = {"operation_id": change["action"], "change": {**change, **at}}
        with pytest.raises(EndorsementNotByPerson, match="between quotation marks alone"):
            memory.record(request)
    assert memory.get(made["id"])["record"]["revision"] == 1


TOLD = 'The harbour master said "ships carry no lanterns, final". Thoughts?'
ASKED = "What do you think of lanterns?"


@pytest.mark.spec("R-018", "R-029", "R-051")
@pytest.mark.parametrize(("said", "reason"), [(TOLD, "somebody else said"), (ASKED, "only asks")])
def test_what_the_person_only_tells_or_asks_settles_and_forgets_nothing(
    memory: Memory, shop: Shop, said: str, reason: str
) -> None:
    made = memory.established("Ships carry no lanterns.")
    shop.transcript.person(said)
    for body in (ACCEPTED, decided("Ships carry no lanterns.")):
        with pytest.raises(EndorsementNotByPerson, match=reason):
            memory.create(body, endorsed(said))
    at = {"expected": {"id": made["id"], "revision": 1}, "evidence": endorsed(said)}
    for action in ("confirm", "forget"):
        with pytest.raises(EndorsementNotByPerson, match=reason):
            memory.record({"operation_id": action, "change": {"action": action, **at}})
    assert memory.get(made["id"])["record"]["revision"] == 1
    fact = {"kind": "fact", "state": "current", "reported_by": "the harbour master"}
    told = {"statement": "Ships carry lanterns.", "review": "established", "details": fact}
    with pytest.raises(EndorsementRequired, match="no question, nothing that they tell of another"):
        memory.create(told, [{"session_id": "s-1", "quote": said}])
    assert memory.create(CANDIDATE, [{"session_id": "s-1", "quote": said}])["revision"] == 1


@pytest.mark.spec("R-052")
def test_a_question_that_asks_to_forget_forgets(memory: Memory, shop: Shop) -> None:
    made = memory.established("Ships carry no lanterns.")
    shop.transcript.person("Can you forget the rule on lanterns?")
    at = {"expected": {"id": made["id"], "revision": 1}}
    evidence = endorsed("Can you forget the rule on lanterns?")
    change = {"action": "forget", **at, "evidence": evidence}
    memory.record({"operation_id": "forget", "change": change})
    with pytest.raises(Forgotten):
        memory.get(made["id"])


@pytest.mark.spec("R-022")
@pytest.mark.row(44)
def test_an_automated_message_can_be_cited_as_a_report(memory: Memory, shop: Shop) -> None:
    shop.transcript.notification("The nightly build failed.")
    receipt = memory.create(
        {
            "statement": "The nightly build failed.",
            "details": {"kind": "fact", "state": "current", "reported_by": "the build"},
        },
        [{"session_id": "s-1", "quote": "The nightly build failed.", "purpose": "report"}],
    )
    assert first_evidence(memory, receipt)["purpose"] == "report"


@pytest.mark.spec("R-018")
def test_an_older_client_leaves_the_author_inferred_and_the_receipt_says_so(
    memory: Memory, shop: Shop
) -> None:
    old = ClaudeTranscript(memory.claude_root, shop.transcript.project, "s-5")
    old.older_prompt("Always write changelogs.")
    receipt = memory.create(ACCEPTED, endorsed("Always write changelogs.", "s-5"))
    assert "inferred" in receipt["warnings"][0]
    assert first_evidence(memory, receipt)["author"] == "inferred"
    memory.set(trust_inferred_authors=False, file="/c/config.toml")
    reason = r"older client.* trust_inferred_authors = false in /c/config\.toml"
    with pytest.raises(EndorsementNotByPerson, match=reason) as caught:
        memory.create(ACCEPTED, endorsed("Always write changelogs.", "s-5"))
    assert "pasted" not in caught.value.message
    old.older_prompt("Look:\n> Never write changelogs.")
    with pytest.raises(EndorsementNotByPerson, match="pasted, fenced or quoted"):
        memory.create(ACCEPTED, endorsed("Never write changelogs.", "s-5"))


@pytest.mark.spec("R-018")
def test_a_headless_prompt_counts_only_when_the_person_says_so(memory: Memory, shop: Shop) -> None:
    shop.transcript.headless("Let's use Milvus instead.")
    memory.set(trust_headless_prompts=True)
    receipt = memory.create(ACCEPTED, endorsed("Let's use Milvus instead."))
    assert "headless" in receipt["warnings"][0]


def test_the_refusal_of_a_headless_prompt_names_what_saves_it_as_a_candidate(
    memory: Memory, shop: Shop
) -> None:
    shop.transcript.headless("Let's use Milvus instead.")
    with pytest.raises(EndorsementNotByPerson) as caught:
        memory.create(CANDIDATE, endorsed("Let's use Milvus instead."))
    assert 'review "candidate" and this citation with purpose "context"' in caught.value.message
    as_told = {**endorsed("Let's use Milvus instead.")[0], "purpose": "context"}
    assert memory.create(CANDIDATE, [as_told])["revision"] == 1
    assert memory.waited == [], "who said it was known at once"


def test_a_session_that_no_hook_told_of_is_not_waited_for(memory: Memory) -> None:
    memory.call = memory.call._replace(is_live=lambda _: False)
    with pytest.raises(SessionNotFound):
        memory.create(CANDIDATE, endorsed("Use tabs.", "s-none"))
    assert memory.waited == []


@pytest.mark.spec("R-018")
def test_a_prompt_of_codex_exec_is_headless(memory: Memory) -> None:
    session = "01a22b46-ef78-7e32-8ff3-ca6f94ba9da5"
    run = CodexTranscript(
        memory.codex_root, str(memory.projects / "w" / "shop"), session, "codex_exec"
    )
    run.person("Let's use Milvus instead.")
    with pytest.raises(EndorsementNotByPerson, match="headless"):
        memory.create(ACCEPTED, endorsed("Let's use Milvus instead.", session))


@pytest.mark.spec("R-021")
@pytest.mark.row(46)
def test_a_bare_yes_needs_the_proposal_directly_before_it(memory: Memory, shop: Shop) -> None:
    shop.transcript.agent("Shall I use Milvus for the archive?")
    yes = shop.transcript.person("Yes.")
    with pytest.raises(EvidenceRequired, match="bare approval"):
        memory.create(ACCEPTED, endorsed("Yes."))
    with pytest.raises(EvidenceRequired):
        memory.create(ACCEPTED, [{"session_id": "s-1", "quote": PROPOSAL}, *endorsed("Yes.")])
    proposal = {"session_id": "s-1", "quote": "use Milvus for the archive"}
    receipt = memory.create(ACCEPTED, [proposal, *endorsed("Yes.")])
    evidence = memory.get(receipt["id"])["revisions"][0]["evidence"]
    assert [e["purpose"] for e in evidence] == ["context", "endorsement"]
    assert evidence[1]["message_id"] == yes


@pytest.mark.spec("R-021")
def test_the_proposal_is_the_one_that_was_answered_even_if_said_again(
    memory: Memory, shop: Shop
) -> None:
    proposal = shop.transcript.agent("I will use Milvus.")
    shop.transcript.tool_result("ok")
    shop.transcript.person("ok")
    shop.transcript.agent("Fine: I will use Milvus.")
    receipt = memory.create(
        ACCEPTED, [{"session_id": "s-1", "quote": "I will use Milvus."}, *endorsed("ok")]
    )
    assert first_evidence(memory, receipt)["message_id"] == proposal


@pytest.mark.spec("R-029")
def test_an_established_decision_without_endorsement_is_refused(memory: Memory, shop: Shop) -> None:
    for purpose in ("context", "report"):
        with pytest.raises(EndorsementRequired):
            memory.create(ACCEPTED, [{"session_id": "s-1", "quote": CHOICE, "purpose": purpose}])
    memory.index()
    with pytest.raises(EndorsementNotByPerson):
        memory.create(
            ACCEPTED,
            [{"message_id": shop.proposal, "quote": PROPOSAL, "purpose": "endorsement"}],
        )


@pytest.mark.spec("R-015")
def test_a_line_that_is_not_flushed_yet_is_waited_for(memory: Memory, shop: Shop) -> None:
    shop.transcript.person("Never push to main.", flush=False)
    memory.on_wait(lambda _s: shop.transcript.release() if len(memory.waited) == 3 else None)
    receipt = memory.create(ACCEPTED, endorsed("Never push to main."))
    assert receipt["revision"] == 1
    assert len(memory.waited) == 3


@pytest.mark.spec("R-015")
def test_a_session_without_a_file_yet_is_waited_for(memory: Memory) -> None:
    def appear(_seconds: float) -> None:
        if len(memory.waited) == 2:
            project = str(memory.projects / "w" / "shop")
            ClaudeTranscript(memory.claude_root, project, "s-6").person("Use tabs.")

    memory.on_wait(appear)
    assert memory.create(ACCEPTED, endorsed("Use tabs.", "s-6"))["revision"] == 1


@pytest.mark.spec("R-015")
def test_the_wait_ends_after_two_seconds_for_the_whole_change(memory: Memory, shop: Shop) -> None:
    with pytest.raises(QuoteNotFound):
        memory.create(
            CANDIDATE, [{"session_id": "s-1", "quote": "not said"}, *endorsed("nor this")]
        )
    assert memory.waited == list(FLUSH_WAITS_S)
    assert sum(memory.waited) == pytest.approx(2.0)


@pytest.mark.spec("R-019", "R-023")
def test_a_citation_keeps_its_purpose_role_and_place(memory: Memory, shop: Shop) -> None:
    receipt = memory.create(CANDIDATE, [{"session_id": "s-1", "quote": PROPOSAL}])
    assert first_evidence(memory, receipt) == {
        "chat_id": shop.chat,
        "message_id": shop.proposal,
        "quote": PROPOSAL,
        "purpose": "context",
        "role": "assistant",
        "author": "agent",
        "status": "matching",
        "added_by": "revision",
        "recorded_at": memory.clock.now,
    }


@pytest.mark.spec("R-030")
def test_a_fact_is_established_only_by_what_the_person_said(memory: Memory, shop: Shop) -> None:
    fact: Json = {
        "statement": "The store is Qdrant.",
        "review": "established",
        "details": {"kind": "fact", "state": "current", "reported_by": "the person"},
    }
    with pytest.raises(EndorsementRequired):
        memory.create(fact, [{"session_id": "s-1", "quote": PROPOSAL, "purpose": "report"}])
    said = [{"session_id": "s-1", "quote": CHOICE, "purpose": "report"}]
    assert memory.create(fact, said)["revision"] == 1


@pytest.mark.spec("R-031")
def test_the_agents_own_decision_rests_on_the_agents_words(memory: Memory, shop: Shop) -> None:
    body: Json = {
        "statement": "The index code is two modules.",
        "review": "established",
        "details": {"kind": "decision", "state": "accepted", "decided_by": "agent"},
    }
    with pytest.raises(MashError) as caught:
        memory.create(body, endorsed(CHOICE))
    assert caught.value.code == "agent_citation_required"
    receipt = memory.create(body, [{"session_id": "s-1", "quote": SPLIT}])
    assert memory.get(receipt["id"])["record"]["decided_by"] == "agent"


@pytest.mark.spec("R-009")
@pytest.mark.parametrize(
    ("tool_use_id", "quote", "expected"),
    [("toolu_7", "Keep tabs.", "s-1"), ("toolu_8", "Keep tabs.", None), ("toolu_8", CHOICE, "s-1")],
)
def test_the_callers_session_is_believed_only_as_far_as_it_can_be_seen(
    memory: Memory, shop: Shop, tool_use_id: str, quote: str, expected: str | None
) -> None:
    shop.transcript.tool_call("record", {}, "toolu_7")
    ClaudeTranscript(memory.claude_root, shop.transcript.project, "s-2").person("Keep tabs.")
    memory.index()
    memory.come_from(agent="claude-code", session_id="s-1", tool_use_id=tool_use_id)
    cited = "s-1" if quote == CHOICE else "s-2"
    receipt = memory.create(ACCEPTED, endorsed(quote, cited))
    with memory.call.store.reading() as db:
        row = db.one("SELECT session_id FROM revisions WHERE record_id = :id", receipt)
    assert row == (expected,)


@pytest.mark.spec("R-027")
def test_a_session_whose_transcript_was_removed_can_still_be_cited(
    memory: Memory, shop: Shop
) -> None:
    memory.index()
    shop.transcript.path.unlink()
    receipt = memory.candidate("Perhaps Qdrant.")
    assert memory.get(receipt["id"])["revisions"][0]["evidence"][0]["message_id"] == shop.question
