"""The golden examples of records."""

import orjson
import pytest

from tests.conftest import CHOICE, SHOP, Json, Memory, Shop
from tests.support.transcripts import CodexTranscript


def golden_request(shop: Shop) -> Json:
    return {
        "operation_id": "choose-local-qdrant-1",
        "change": {
            "action": "create",
            "scope": {"kind": "chat", "id": shop.chat},
            "body": {
                "statement": "Use Qdrant for local search.",
                "recorded_by": "My coding agent",
                "review": "established",
                "details": {"kind": "decision", "state": "accepted"},
            },
            "evidence": [{"message_id": shop.choice, "quote": CHOICE, "purpose": "endorsement"}],
        },
    }


@pytest.mark.spec("R-007", "R-013", "R-045")
def test_an_established_decision_is_created_from_a_message(memory: Memory, shop: Shop) -> None:
    memory.index()
    receipt = memory.record(golden_request(shop))
    assert receipt["operation_id"] == "choose-local-qdrant-1"
    assert receipt["action"] == "create"
    assert receipt["revision"] == 1
    assert receipt["reused"] is False
    assert receipt["replayed"] is False


@pytest.mark.spec("R-013", "R-015")
def test_a_running_session_is_cited_without_an_index_run(memory: Memory, shop: Shop) -> None:
    request = golden_request(shop)
    request["change"]["scope"] = {"kind": "repository", "identity": SHOP}
    request["change"]["evidence"] = [
        {"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}
    ]
    receipt = memory.record(request)
    recalled = memory.recall(scope={"kind": "repository", "identity": SHOP})
    assert [item["id"] for item in recalled["records"]] == [receipt["id"]]
    evidence = memory.get(receipt["id"])["revisions"][0]["evidence"]
    memory.index()
    assert [e["message_id"] for e in evidence] == [shop.choice]


@pytest.mark.spec("R-061")
def test_a_retry_gives_the_first_receipt(memory: Memory, shop: Shop) -> None:
    memory.index()
    first = memory.record(golden_request(shop))
    memory.clock.advance(60_000)
    second = memory.record(golden_request(shop))
    assert second == {**first, "replayed": True}
    assert memory.count_records() == 1


@pytest.mark.spec("R-072", "R-078", "R-079")
def test_recall_gives_a_small_packet(memory: Memory, shop: Shop) -> None:
    for number in range(12):
        memory.candidate(f"Keep option {number} open for the index.")
    packet = memory.recall(scope={"kind": "repository", "identity": SHOP})
    assert isinstance(packet["records"], list)
    assert packet["truncated"] is True
    assert packet["scan_limited"] is False
    assert len(packet["records"]) == 8
    assert len(orjson.dumps(packet)) <= 6000


@pytest.mark.spec("R-088", "R-089")
def test_a_file_brings_the_records_that_name_it(memory: Memory, shop: Shop) -> None:
    named = memory.candidate("Keep parsing in src/main.rs small.")
    memory.candidate("Keep other/src/main.rs as it is.")
    memory.candidate("Delete src/main.rs.bak soon.")
    packet = memory.recall(scope={"kind": "repository", "identity": SHOP}, file="src/main.rs")
    assert [item["id"] for item in packet["records"]] == [named["id"]]


@pytest.mark.spec("R-013")
def test_the_same_works_in_a_codex_session(memory: Memory, codex_shop: CodexTranscript) -> None:
    receipt = memory.create(
        {
            "statement": "Use Qdrant for local search.",
            "review": "established",
            "details": {"kind": "decision", "state": "accepted"},
        },
        [{"session_id": codex_shop.session_id, "quote": CHOICE, "purpose": "endorsement"}],
    )
    assert memory.get(receipt["id"])["record"]["status"] == "current"
