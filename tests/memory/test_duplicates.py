"""What counts as the same record, and what becomes of a second create (R-066 to R-070)."""

from typing import Any

import pytest

from mash_plugin.errors import DuplicateRecord, MashError
from tests.conftest import CHOICE, QUESTION, Json, Memory, Shop

SAID: list[Json] = [{"session_id": "s-1", "quote": CHOICE, "purpose": "endorsement"}]
DECISION: Json = {"kind": "decision", "state": "accepted", "alternatives": ["Milvus"]}
PREFERENCE: Json = {"kind": "preference", "state": "active", "conditions": ["In tests."]}
FACT: Json = {
    "kind": "fact",
    "state": "current",
    "reported_by": "the person",
    "valid_until": 1_900_000_000_000,
}
LATER = 1_800_000_000_000


def body(details: Json = DECISION, **fields: Any) -> Json:
    return {"statement": "Use Qdrant.", "review": "established", "details": details, **fields}


@pytest.mark.spec("R-066", "R-069")
def test_a_second_create_names_the_live_record_and_saves_nothing(
    memory: Memory, shop: Shop
) -> None:
    first = memory.create(body(), SAID)
    for same in (body(), body(recorded_by="another"), body(statement=" Use   Qdrant. ")):
        with pytest.raises(DuplicateRecord) as caught:
            memory.create(same, SAID, operation_id="second")
        told = caught.value.details
        assert told == {"id": first["id"], "revision": 1, "status": "current"}
    assert memory.count_records() == 1
    other = body(statement="Use Milvus.")
    assert memory.create(other, SAID, operation_id="second")["reused"] is False


@pytest.mark.spec("R-069")
@pytest.mark.parametrize(
    ("given", "other"),
    [
        (body(), body(statement="Use qdrant.")),
        (body(), body(review="candidate")),
        (body(), body(effective_at=LATER)),
        (body(), body({**DECISION, "state": "proposed"})),
        (body(), body({**DECISION, "alternatives": ["Milvus", "Faiss"]})),
        (body(), body({**DECISION, "consequences": ["One more service."]})),
        (body(PREFERENCE), body({**PREFERENCE, "conditions": ["Always."]})),
        (body(FACT), body({**FACT, "reported_by": "a page"})),
        (body(FACT), body({**FACT, "valid_until": LATER})),
        (
            body({"kind": "decision", "state": "accepted"}),
            body({"kind": "preference", "state": "active"}),
        ),
    ],
)
def test_one_field_that_differs_makes_another_record(
    memory: Memory, shop: Shop, given: Json, other: Json
) -> None:
    memory.create(given, SAID)
    assert memory.create(other, SAID, on_duplicate="reuse")["reused"] is False
    assert memory.count_records() == 2


@pytest.mark.spec("R-069")
def test_who_decided_makes_another_record_but_a_spelled_out_default_does_not(
    memory: Memory, shop: Shop
) -> None:
    cites = [*SAID, {"session_id": "s-1", "quote": "I propose Qdrant for local search."}]
    memory.create(body(), cites)
    spelled = body({**DECISION, "decided_by": "person"})
    assert memory.create(spelled, cites, on_duplicate="reuse")["reused"] is True
    agents = body({**DECISION, "decided_by": "agent"})
    assert memory.create(agents, cites, on_duplicate="reuse")["reused"] is False


@pytest.mark.spec("R-067", "R-068")
def test_reuse_points_at_the_record_and_changes_nothing_of_it(memory: Memory, shop: Shop) -> None:
    first = memory.create(body(recorded_by="the first"), SAID)
    before = memory.get(first["id"], history=True)
    memory.clock.advance(60_000)
    again: Json = {"on_duplicate": "reuse", "operation_id": "again"}
    reused = memory.create(body(recorded_by="another"), SAID, **again)
    assert (reused["id"], reused["revision"], reused["reused"]) == (first["id"], 1, True)
    assert memory.create(body(recorded_by="another"), SAID, **again) == {
        **reused,
        "replayed": True,
    }
    assert memory.get(first["id"], history=True) == before
    asked = [{"session_id": "s-1", "quote": QUESTION}]
    with pytest.raises(MashError) as caught:
        memory.create(body(), asked, on_duplicate="reuse")
    assert caught.value.code == "endorsement_required"


@pytest.mark.spec("R-070")
def test_a_retired_record_is_never_revived(memory: Memory, shop: Shop) -> None:
    first = memory.create(body(), SAID)
    memory.change("revise", first, body=body({**DECISION, "state": "withdrawn"}), evidence=SAID)
    again = memory.create(body(), SAID, on_duplicate="reuse")
    assert again["reused"] is False
    assert again["id"] != first["id"]


@pytest.mark.spec("R-070")
def test_what_is_out_of_force_but_not_retired_still_counts(memory: Memory, shop: Shop) -> None:
    expired = body({**FACT, "valid_until": memory.clock.now + 1_000})
    first = memory.create(expired, SAID)
    memory.clock.advance(1_000)
    with pytest.raises(DuplicateRecord) as caught:
        memory.create(expired, SAID)
    assert caught.value.details == {"id": first["id"], "revision": 1, "status": "inactive"}


@pytest.mark.spec("R-066")
def test_a_hidden_record_is_no_duplicate(memory: Memory, shop: Shop) -> None:
    first = memory.create(body(), SAID)
    memory.change("forget", first)
    assert memory.create(body(), SAID)["id"] != first["id"]
