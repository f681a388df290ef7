"""All chats of a project leave the memory: by its folder or by its repository."""

from pathlib import Path

import pytest

from mash_plugin.chats.forget import forgotten_test
from mash_plugin.errors import ChatNotFound, InvalidArgument
from mash_plugin.memory.forget_project import drop_chats, find_leaving, forget_project, preview
from tests.conftest import QUESTION, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript, CodexTranscript


@pytest.fixture
def saved(
    memory: Memory, shop: Shop, codex_shop: CodexTranscript, other_shop: ClaudeTranscript
) -> dict[str, str]:
    """A record of the shop in one clone, and of the folder that is no repository."""
    other = {"kind": "local_project", "path": str(memory.projects / "w2" / "shop")}
    found = {
        "shop": memory.established("Qdrant.")["id"],
        "other": memory.candidate("Other?", "s-9", scope=other)["id"],
    }
    memory.index()
    return found


def records(memory: Memory) -> set[str]:
    return {r["id"] for r in memory.pages(include_inactive=True)["records"]}


def forget(memory: Memory, path: Path | None = None, identity: str | None = None) -> Json:
    leaving = find_leaving(memory.call, str(path) if path else None, identity)
    return forget_project(memory.call, leaving)


def test_a_repository_leaves_with_all_its_clones_and_what_cites_them(
    memory: Memory, saved: dict[str, str], shop: Shop
) -> None:
    before = memory.chat_ids()
    seen = preview(memory.call, find_leaving(memory.call, None, SHOP))
    assert memory.chat_ids() == before
    assert {r["id"] for r in seen["records"]} == {saved["shop"]}
    done = forget(memory, identity=SHOP)
    assert [done[key] for key in ("chats", "messages", "records")] == [
        seen[key] for key in ("chats", "messages", "records")
    ]
    assert memory.chat_ids() == {"claude-code-s-9"}
    assert records(memory) == {saved["other"]}
    shop.transcript.person("One more.")
    memory.index()
    assert memory.chat_ids() == {"claude-code-s-9"}
    assert forgotten_test(memory.call.store)("claude-code", "s-1")


def test_a_folder_takes_all_below_it_by_whole_names_and_no_other_clone(
    memory: Memory, saved: dict[str, str]
) -> None:
    beside = memory.projects / "w" / "shop2"
    beside.mkdir()
    ClaudeTranscript(memory.claude_root, str(beside), "s-8").person(QUESTION)
    memory.index()
    forget(memory, memory.projects / "w" / "shop")
    codex = {name for name in memory.chat_ids() if name.startswith("codex-")}
    assert memory.chat_ids() - codex == {"claude-code-s-8", "claude-code-s-9"}
    assert len(codex) == 1
    forget(memory, memory.projects)
    assert memory.chat_ids() == set()
    assert records(memory) == set()


def test_the_chats_of_agents_that_a_chat_started_leave_with_it(
    memory: Memory, saved: dict[str, str], tmp_path: Path
) -> None:
    with memory.call.chats.database.writing() as db:
        db.run("UPDATE chats SET parent_session = 's-1' WHERE session_id = 's-9'")
    forget(memory, memory.projects / "w")
    assert "claude-code-s-9" not in memory.chat_ids()


@pytest.mark.spec("R-027")
def test_chats_alone_leave_where_they_are_not_read_and_records_keep_what_they_cite(
    memory: Memory, saved: dict[str, str]
) -> None:
    folder = memory.projects / "w" / "shop"
    leaving = find_leaving(memory.call, str(folder), None)
    with pytest.raises(InvalidArgument, match="would come back"):
        drop_chats(memory.call, leaving)
    (folder / ".mash").write_text("index = off\n")
    done = drop_chats(memory.call, leaving)
    assert (done["records"], done["is_scrubbed"]) == ([], True)
    memory.index()
    assert "claude-code-s-1" not in memory.chat_ids()
    record = memory.get(saved["shop"])
    assert record["record"]["status"] == "current"


def test_what_the_index_does_not_hold_is_told(memory: Memory, saved: dict[str, str]) -> None:
    inside = memory.projects / "w" / "shop" / "src"
    inside.mkdir()
    with pytest.raises(ChatNotFound, match=f"lies in the project {inside.parent}: name that one"):
        find_leaving(memory.call, str(inside), None)
    with pytest.raises(ChatNotFound, match="see `mash chats`"):
        find_leaving(memory.call, None, "github.com/acme/shop2")
