"""`mash log` tells who asked to forget a record, and nothing more of it."""

import orjson
import pytest
from click.testing import CliRunner

from mash_plugin import client
from mash_plugin.cli.log import log
from mash_plugin.memory import forget_chat as forgetting
from mash_plugin.memory.forget import KEEP_HIDDEN_MS, purge_hidden
from mash_plugin.memory.log import log_events
from mash_plugin.memory.terminal import change as change_by_hand
from mash_plugin.protocol import validate
from mash_plugin.protocol.commands import COMMANDS
from tests.conftest import Json, Memory, Shop

BY_HAND = "by the person at the terminal"


@pytest.fixture(autouse=True)
def no_daemon(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command asks the open stores."""

    def call(method: str, request: Json, **_: object) -> Json:
        return log_events(memory.call_now(), validate(method, request, COMMANDS))

    monkeypatch.setattr(client, "call", call)


def told(word: str) -> str:
    """The only line of the log with that word, put together where it was wrapped."""
    done = CliRunner().invoke(log, ["--since", "3d"])
    assert done.exit_code == 0, done
    _, _, rest = " ".join(done.output.split()).partition(f" {word} ")
    assert rest, done.output
    return rest


def test_what_an_agent_had_forgotten_names_its_session_and_the_agent(
    memory: Memory, shop: Shop
) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    memory.come_from(agent="claude-code", session_id="s-1")
    receipt = memory.change("forget", first)
    assert "asked_by" not in receipt
    assert told("forgotten").startswith(f"{first['id'][:12]} by session s-1 (claude-code)")


def test_an_agent_that_tells_no_session_is_named(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    memory.come_from(agent="claude-code")
    memory.change("forget", first)
    assert "by an agent (claude-code); `mash undo`" in told("hidden")


def test_what_stayed_hidden_names_who_asked_a_day_before(memory: Memory, shop: Shop) -> None:
    first = memory.established("Use Qdrant.")
    memory.come_from(agent="claude-code", session_id="s-1")
    memory.change("forget", first)
    memory.clock.advance(KEEP_HIDDEN_MS + 5_000)
    purge_hidden(memory.call_now())
    assert "by session s-1 (claude-code)" in told("forgotten")


def test_what_the_person_removed_is_theirs_also_where_an_agent_had_asked(
    memory: Memory, shop: Shop
) -> None:
    first = memory.established("Use Qdrant.")
    memory.come_from(agent="claude-code", session_id="s-1")
    memory.change("forget", first)
    memory.clock.advance(1_000)
    change_by_hand(memory.call_now(), {"action": "forget", "id": first["id"], "revision": 1})
    assert BY_HAND in told("forgotten")


def test_a_session_that_was_forgotten_is_named_no_more(memory: Memory, shop: Shop) -> None:
    first = memory.candidate("Perhaps Qdrant.")
    memory.come_from(agent="claude-code", session_id="s-1")
    memory.change("forget", first)
    call = memory.call_now()
    forgetting.forget_chat(call, forgetting.find_going(call, shop.chat))
    done = CliRunner().invoke(log, ["--json"])
    events = orjson.loads(done.output)["events"]
    assert next(e for e in events if e["event"] == "forgotten")["origin"] == "tool"
    assert b"s-1" not in orjson.dumps(events)


def test_a_page_tells_which_part_it_is_and_how_the_next_one_is_seen(
    memory: Memory, shop: Shop
) -> None:
    for statement in ("Perhaps Qdrant.", "Perhaps Milvus.", "Perhaps Faiss."):
        memory.candidate(statement)
    done = CliRunner().invoke(log, ["--since", "3d", "--limit", "1", "--offset", "1"])
    assert "2-2. More: mash log --since 3d --limit 1 --offset 2" in done.output
