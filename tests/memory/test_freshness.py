"""Records whose sources changed say so, and recover with them."""

from typing import Any

import pytest

from mash_plugin.errors import EndorsementNotByPerson, InvalidArgument
from mash_plugin.memory.freshness import recheck, recheck_rebuilt
from mash_plugin.store.changes import insert_record
from mash_plugin.store.records import get_head, load_head
from tests.conftest import CHOICE, PROPOSAL, QUESTION, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript, CodexTranscript

REPOSITORY = {"kind": "repository", "identity": SHOP}
OTHER_CHOICE = "Yes, let's use Milvus!"
KEPT = "Qdrant works well, keep it."
CHOSEN: Json = {
    "statement": "Use Qdrant.",
    "review": "established",
    "details": {"kind": "decision", "state": "accepted"},
}
SAID: list[Json] = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
LATER: list[Json] = [{"session_id": "s-2", "quote": KEPT, "purpose": "endorsement"}]


def evidence_status(memory: Memory, record_id: str) -> list[str]:
    return [e["status"] for e in memory.get(record_id)["revisions"][0]["evidence"]]


def recalled(memory: Memory, **request: Any) -> list[str]:
    return [r["statement"] for r in memory.recall(scope=REPOSITORY, **request)["records"]]


@pytest.mark.spec("R-025", "R-157")
def test_a_changed_sentence_makes_the_record_stale_until_it_is_back(
    memory: Memory, shop: Shop
) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    assert recheck(memory.call, memory.index()) == 1
    assert evidence_status(memory, record_id) == ["changed"]
    assert memory.recall(scope=REPOSITORY)["records"] == []
    assert memory.pages()["records"] == []
    (item,) = memory.recall(scope=REPOSITORY, include_review=True)["records"]
    assert (item["status"], item["evidence"]) == ("stale_evidence", "stale")
    shop.transcript.rewrite("Yes, let's use Milvus!", CHOICE)
    assert recheck(memory.call, memory.index()) == 1
    assert evidence_status(memory, record_id) == ["matching"]
    assert len(memory.recall(scope=REPOSITORY)["records"]) == 1


@pytest.mark.spec("R-025")
@pytest.mark.row(48)
def test_a_message_that_is_gone_is_missing(memory: Memory, shop: Shop) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    lines = shop.transcript.path.read_text("utf-8").splitlines(keepends=True)
    shop.transcript.path.write_text("".join(x for x in lines if shop.choice not in x), "utf-8")
    recheck(memory.call, memory.index())
    assert evidence_status(memory, record_id) == ["missing"]


@pytest.mark.spec("R-025")
def test_a_fork_that_still_holds_the_message_does_not_speak_for_its_chat(
    memory: Memory, shop: Shop
) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    lines = shop.transcript.path.read_text("utf-8").splitlines(keepends=True)
    fork = shop.transcript.path.with_name("s-8.jsonl")
    fork.write_text("".join(lines).replace('"s-1"', '"s-8"'), "utf-8")
    shop.transcript.path.write_text("".join(x for x in lines if shop.choice not in x), "utf-8")
    recheck(memory.call, memory.index())
    assert evidence_status(memory, record_id) == ["missing"]


@pytest.mark.spec("R-025")
@pytest.mark.row(45)
def test_a_line_forged_into_the_agents_words_no_longer_carries_the_record(
    memory: Memory, codex_shop: CodexTranscript
) -> None:
    said = [{"session_id": codex_shop.session_id, "quote": CHOICE, "purpose": "endorsement"}]
    record_id = memory.create(CHOSEN, said)["id"]
    line = f'"role": "user", "content": [{{"type": "input_text", "text": "{CHOICE}"'
    codex_shop.path.write_text(
        codex_shop.path.read_text("utf-8").replace(line, line.replace("user", "assistant")), "utf-8"
    )
    assert recheck(memory.call, memory.index()) == 1
    assert evidence_status(memory, record_id) == ["role_changed"]
    assert recalled(memory) == []
    forged = [{**said[0], "quote": PROPOSAL}]
    with pytest.raises(EndorsementNotByPerson):
        memory.create(CHOSEN, forged)


@pytest.mark.spec("R-025")
@pytest.mark.row(45)
def test_words_that_turn_out_to_be_a_machines_are_no_longer_the_persons(
    memory: Memory, shop: Shop
) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    typed = '"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"'
    assert typed in shop.transcript.path.read_text("utf-8")
    shop.transcript.rewrite(
        typed,
        '"origin": {"kind": "task-notification"}, "promptSource": "system",'
        ' "turnOrigin": "task_notification"',
    )
    recheck(memory.call, memory.index())
    assert evidence_status(memory, record_id) == ["role_changed"]
    assert recalled(memory) == []


@pytest.mark.spec("R-024", "R-025")
@pytest.mark.parametrize("missing", ["purpose", "role"])
def test_an_older_citation_without_purpose_or_role_is_stale_and_says_unknown(
    memory: Memory, shop: Shop, missing: str
) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    with memory.call.store.writing() as db:
        head = get_head(db, record_id)
        assert head is not None
        first = load_head(db, head)
        assert first is not None
        evidence = tuple(e._replace(**{missing: "unknown"}) for e in first.evidence)
        older = first._replace(evidence=evidence)
        insert_record(db, "older", head.owner, head.scope, older, b"", ("qdrant", ""))
    for _ in range(2):
        assert [r["id"] for r in memory.recall(scope=REPOSITORY)["records"]] == [record_id]
        assert [r["id"] for r in memory.pages()["records"]] == [record_id]
        (one,) = memory.get("older")["revisions"][0]["evidence"]
        assert one[missing] == "unknown"
        assert memory.get("older")["record"]["status"] == "stale_evidence"
        recheck(memory.call, [shop.chat])
    assert one["quote"] == CHOICE
    assert evidence_status(memory, "older") == ["role_unknown"]


@pytest.mark.spec("R-024")
def test_an_older_citation_is_stale_whether_or_not_its_chat_is_indexed(
    memory: Memory, shop: Shop
) -> None:
    memory.established("Use Qdrant.")
    with memory.call.store.writing() as db:
        db.run("UPDATE evidence SET role = 'unknown', chat_id = 'lost'")
    assert recheck(memory.call, ["lost"]) == 1
    assert recalled(memory) == []
    assert recheck(memory.call, ["lost"]) == 0


@pytest.mark.spec("R-024")
@pytest.mark.parametrize("purpose", ["unknown", ""])
def test_a_purpose_can_be_unknown_only_in_what_is_read(memory: Memory, purpose: str) -> None:
    with pytest.raises(InvalidArgument):
        memory.create(CHOSEN, [{"session_id": "s-1", "quote": CHOICE, "purpose": purpose}])


@pytest.mark.spec("R-027")
def test_a_vanished_transcript_is_no_new_version_of_the_chat(memory: Memory, shop: Shop) -> None:
    memory.established("Use Qdrant.")
    shop.transcript.path.unlink()
    recheck(memory.call, [*memory.index(), shop.chat])
    assert len(memory.recall(scope=REPOSITORY)["records"]) == 1


@pytest.mark.spec("R-027")
def test_a_vanished_transcript_is_missing_once_another_comes_in_its_place(
    memory: Memory, shop: Shop
) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    shop.transcript.path.unlink()
    assert recheck(memory.call, memory.index()) == 0
    again = ClaudeTranscript(memory.claude_root, shop.transcript.project, "s-1")
    again.person("Something else.")
    assert recheck(memory.call, memory.index()) == 1
    assert evidence_status(memory, record_id)[0] in ("changed", "missing")
    assert recalled(memory) == []


@pytest.mark.spec("R-027")
def test_a_chat_that_the_index_lost_says_nothing(memory: Memory, shop: Shop) -> None:
    memory.established("Use Qdrant.")
    assert recheck(memory.call, ["nowhere"]) == 0
    assert len(memory.recall(scope=REPOSITORY)["records"]) == 1


@pytest.mark.spec("R-025")
def test_other_chats_are_left_alone(
    memory: Memory, shop: Shop, codex_shop: CodexTranscript
) -> None:
    memory.established("Use Qdrant.")
    memory.index()
    assert recheck(memory.call, [shop.chat, f"codex-{codex_shop.session_id}"]) == 0


@pytest.mark.spec("R-025", "R-157")
def test_a_rewrite_that_a_citing_call_read_first_is_noticed(memory: Memory, shop: Shop) -> None:
    memory.established("Use Qdrant.")
    assert recheck_rebuilt(memory.call) == 0
    shop.transcript.rewrite(CHOICE, "Yes, let's use Milvus!")
    memory.candidate("Something else.")
    assert memory.index() == ()
    assert recheck_rebuilt(memory.call) == 1
    items = memory.recall(scope=REPOSITORY)["records"]
    assert [item["statement"] for item in items] == ["Something else."]


@pytest.mark.spec("R-025", "R-157")
def test_a_citing_call_that_reads_a_rewritten_chat_judges_its_citations_at_once(
    memory: Memory, shop: Shop
) -> None:
    def judge(chat_id: str) -> None:
        recheck(memory.call, [chat_id])

    memory.call.chats.on_rebuilt = judge
    memory.established("Use Qdrant.")
    shop.transcript.rewrite(CHOICE, OTHER_CHOICE)
    memory.candidate("Something else.")
    assert recalled(memory) == ["Something else."]


@pytest.mark.spec("R-026")
def test_a_revision_on_fresh_words_brings_a_stale_record_back(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")
    shop.transcript.rewrite(CHOICE, OTHER_CHOICE)
    recheck(memory.call, memory.index())
    (stale,) = memory.pages(include_inactive=True)["records"]
    assert stale["status"] == "stale_evidence"
    second = memory.change("revise", first, body=CHOSEN, evidence=LATER)
    assert second["revision"] == 2
    (item,) = memory.recall(scope=REPOSITORY)["records"]
    assert (item["id"], item["revision"], item["evidence"]) == (first["id"], 2, "matching")
    whole = memory.get(first["id"], history=True)
    assert [[e["status"] for e in r["evidence"]] for r in whole["revisions"]] == [
        ["matching"],
        ["changed"],
    ]


@pytest.mark.spec("R-025", "R-026")
def test_only_the_citations_of_the_head_count(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")
    memory.change("revise", first, body=CHOSEN, evidence=LATER)
    shop.transcript.rewrite(CHOICE, OTHER_CHOICE)
    assert recheck(memory.call, memory.index()) == 1
    assert recalled(memory) == ["Use Qdrant."]
    second_shop.rewrite(KEPT, "Drop it.")
    assert recheck(memory.call, memory.index()) == 1
    assert recalled(memory) == []


@pytest.mark.spec("R-025", "R-051")
def test_a_stale_confirmation_is_not_counted_and_harms_nothing(
    memory: Memory, shop: Shop, second_shop: ClaudeTranscript
) -> None:
    first = memory.established("Use Qdrant.")
    again = shop.transcript.person("Qdrant it is.")
    memory.index()
    third = [{"message_id": again, "quote": "Qdrant it is.", "purpose": "endorsement"}]
    memory.change("confirm", first, evidence=third)
    assert memory.change("confirm", first, evidence=LATER)["confirmations_total"] == 2
    second_shop.rewrite(KEPT, "Drop it.")
    recheck(memory.call, memory.index())
    (item,) = memory.recall(scope=REPOSITORY)["records"]
    assert (item["confirmations"], item["status"]) == (1, "current")
    whole = memory.get(first["id"])
    assert len(whole["revisions"][0]["confirmation_history"]) == 2
    told = {e["quote"]: e["status"] for e in whole["revisions"][0]["evidence"]}
    assert told == {CHOICE: "matching", "Qdrant it is.": "matching", KEPT: "changed"}
    second_shop.rewrite("Drop it.", KEPT)
    recheck(memory.call, memory.index())
    assert memory.get(first["id"])["record"]["confirmations"] == 2


@pytest.mark.spec("R-025")
def test_one_changed_citation_among_several_makes_the_record_stale(
    memory: Memory, shop: Shop
) -> None:
    asked = {"session_id": "s-1", "quote": QUESTION}
    record_id = memory.create(CHOSEN, [asked, *SAID])["id"]
    shop.transcript.rewrite(QUESTION, "Never mind.")
    recheck(memory.call, memory.index())
    assert evidence_status(memory, record_id) == ["changed", "matching"]
    assert recalled(memory) == []


@pytest.mark.spec("R-006", "R-093")
def test_a_fact_ends_and_a_choice_begins_by_the_clock_alone(memory: Memory, shop: Shop) -> None:
    ends, begins = memory.clock.now + 1_000, memory.clock.now + 2_000
    fact = {"kind": "fact", "state": "current", "reported_by": "them", "valid_until": ends}
    claimed = [{"session_id": "s-1", "quote": CHOICE, "purpose": "report"}]
    memory.create({"statement": "Ends.", "review": "established", "details": fact}, claimed)
    memory.create({**CHOSEN, "statement": "Begins.", "effective_at": begins}, SAID)
    for after, current in ((0, ["Ends."]), (999, ["Ends."]), (1_000, []), (2_000, ["Begins."])):
        memory.clock.now = ends - 1_000 + after
        assert recalled(memory) == current
        assert [r["statement"] for r in memory.pages()["records"]] == current
        labels = {
            r["statement"]: r["status"] for r in memory.pages(include_inactive=True)["records"]
        }
        assert labels == {
            "Ends.": "current" if after < 1_000 else "inactive",
            "Begins.": "current" if after == 2_000 else "inactive",
        }
