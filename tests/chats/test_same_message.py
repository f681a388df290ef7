"""One message ID in two chats: neither chat decides whose words the other's are."""

import json

import pytest

from mash_plugin.errors import EndorsementNotByPerson
from tests.conftest import Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript

WORDS = "Adopt Milvus now."


def body(statement: str) -> Json:
    return {
        "statement": statement,
        "review": "established",
        "details": {"kind": "decision", "state": "accepted"},
    }


def endorsed_in(session_id: str) -> list[Json]:
    return [{"session_id": session_id, "quote": WORDS, "purpose": "endorsement"}]


def two_sessions(memory: Memory) -> tuple[ClaudeTranscript, ClaudeTranscript]:
    project = str(memory.projects / "w" / "shop")
    first, second = (ClaudeTranscript(memory.claude_root, project, name) for name in ("t-1", "t-2"))
    return first, second


def copy_newest_line(source: ClaudeTranscript, target: ClaudeTranscript, **marks: object) -> None:
    row = json.loads(source.path.read_text().splitlines()[-1])
    line = json.dumps({**row, "sessionId": target.session_id, **marks})
    with target.path.open("a") as file:
        file.write(line + "\n")


@pytest.mark.spec("R-017", "R-018")
def test_an_agents_copy_never_takes_the_persons_words_away(memory: Memory, shop: Shop) -> None:
    typed, copy = two_sessions(memory)
    typed.person(WORDS)
    saved = memory.create(body("Adopt Milvus."), endorsed_in("t-1"))
    copy_newest_line(typed, copy, isSidechain=True)
    memory.index()
    with pytest.raises(EndorsementNotByPerson):
        memory.create(body("Adopt it elsewhere."), endorsed_in("t-2"))
    memory.create(body("Adopt it again."), endorsed_in("t-1"))
    assert memory.get(saved["id"])["record"]["evidence"] == "matching"


@pytest.mark.spec("R-018")
def test_a_typed_copy_does_not_make_the_other_typed(memory: Memory, shop: Shop) -> None:
    headless, typed = two_sessions(memory)
    headless.headless(WORDS)
    memory.index()
    copy_newest_line(
        headless, typed, origin={"kind": "human"}, promptSource="typed", turnOrigin="human"
    )
    memory.index()
    with pytest.raises(EndorsementNotByPerson):
        memory.create(body("Adopt Milvus."), endorsed_in("t-1"))
    memory.create(body("Adopt Milvus."), endorsed_in("t-2"))
