"""Records whose sources changed say so, and recover with them."""

import pytest

from mash_plugin.memory.freshness import recheck, recheck_rebuilt
from tests.conftest import CHOICE, SHOP, Memory, Shop
from tests.support.transcripts import CodexTranscript

REPOSITORY = {"kind": "repository", "identity": SHOP}


def evidence_status(memory: Memory, record_id: str) -> list[str]:
    return [e["status"] for e in memory.get(record_id)["revisions"][0]["evidence"]]


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
def test_a_message_whose_role_changed_no_longer_matches(memory: Memory, shop: Shop) -> None:
    record_id = memory.established("Use Qdrant.")["id"]
    shop.transcript.rewrite(
        f'"type": "user", "message": {{"role": "user", "content": "{CHOICE}"}}',
        f'"type": "assistant", "message": {{"role": "assistant", "content": "{CHOICE}"}}',
    )
    recheck(memory.call, memory.index())
    assert evidence_status(memory, record_id)[0] in ("role_changed", "missing")
    assert memory.recall(scope=REPOSITORY)["records"] == []


@pytest.mark.spec("R-027")
def test_a_vanished_transcript_is_no_new_version_of_the_chat(memory: Memory, shop: Shop) -> None:
    memory.established("Use Qdrant.")
    shop.transcript.path.unlink()
    recheck(memory.call, [*memory.index(), shop.chat])
    assert len(memory.recall(scope=REPOSITORY)["records"]) == 1


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
