"""`[chats] keep_days`: old chats leave the index, records keep what they cite."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mash_plugin.chats.forget import scrub_index
from mash_plugin.chats.retention import DAY_MS, keep_since
from mash_plugin.memory.freshness import recheck_rebuilt
from tests.conftest import CHOICE, QUESTION, Memory, Shop
from tests.support.transcripts import ClaudeTranscript

DAYS = 90


@pytest.fixture
def kept(memory: Memory, shop: Shop, second_shop: ClaudeTranscript) -> str:
    """A record that rests on the older of two chats, which ended a hundred days ago."""
    record = str(memory.established("Qdrant.")["id"])
    memory.index()
    end(memory, "s-1", days_ago=100)
    memory.call.chats._keep_since = lambda now: keep_since(DAYS, now)
    return record


def end(memory: Memory, session: str, days_ago: int) -> None:
    at = memory.clock.now - days_ago * DAY_MS
    with memory.call.chats.database.writing() as db:
        row = {"at": at, "session": session}
        db.run("UPDATE chats SET last_active_at = :at WHERE session_id = :session", row)
        paths = db.all("SELECT path FROM files WHERE session_id = :session", row)
    for (path,) in paths:
        os.utime(path, ns=(at * 1_000_000,) * 2)


def sessions(memory: Memory) -> set[str]:
    with memory.call.chats.database.reading() as db:
        return {row[0] for row in db.all("SELECT session_id FROM chats")}


def holds(memory: Memory, text: str) -> bool:
    memory.call.chats.database.checkpoint("TRUNCATE")
    return text.encode() in Path(memory.call.chats.database.path).read_bytes()


@pytest.mark.spec("R-027")
def test_an_old_chat_leaves_the_index_and_its_record_stays_in_force(
    memory: Memory, kept: str
) -> None:
    assert memory.call.chats.drop_old(memory.clock.now) == 1
    assert scrub_index(memory.call.chats.database)
    assert not holds(memory, QUESTION)
    memory.index()
    assert sessions(memory) == {"s-2"}
    assert memory.call.chats.drop_old(memory.clock.now) == 0
    found = memory.get(kept)
    assert found["record"]["status"] == "current"
    assert found["revisions"][0]["evidence"][0]["quote"] == CHOICE


@pytest.mark.spec("R-027")
def test_a_chat_that_goes_on_is_whole_again_and_the_record_stays_in_force(
    memory: Memory, shop: Shop, kept: str
) -> None:
    memory.call.chats.drop_old(memory.clock.now)
    os.utime(shop.transcript.path)
    shop.transcript.person("One more.")
    memory.index()
    recheck_rebuilt(memory.call)
    assert sessions(memory) == {"s-1", "s-2"}
    assert holds(memory, QUESTION)
    assert memory.get(kept)["record"]["status"] == "current"


@pytest.mark.parametrize("read", ["all", "session", "path"])
def test_a_transcript_that_nobody_has_written_for_so_long_is_not_read(
    memory: Memory, shop: Shop, kept: str, read: str
) -> None:
    memory.call.chats.drop_old(memory.clock.now)
    index, now = memory.call.chats, memory.clock.now
    ways: dict[str, Callable[[], object]] = {
        "all": lambda: index.refresh_all(now),
        "session": lambda: index.refresh_session("s-1", now),
        "path": lambda: index.refresh_path("claude-code", str(shop.transcript.path), now),
    }
    ways[read]()
    assert sessions(memory) == {"s-2"}


def test_without_a_number_of_days_all_chats_are_kept(memory: Memory, kept: str) -> None:
    memory.call.chats._keep_since = lambda now: keep_since(None, now)
    assert memory.call.chats.drop_old(memory.clock.now) == 0
    assert sessions(memory) == {"s-1", "s-2"}
    assert keep_since(DAYS, 5) == 0
