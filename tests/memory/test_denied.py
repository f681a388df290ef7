"""A project on a list of the settings: the tools say so, and show and save nothing of it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mash_plugin.daemon import chats
from mash_plugin.errors import MashError, RecordsDisabled
from mash_plugin.memory.extraction import get_extraction_checkpoint
from mash_plugin.protocol import validate
from tests.conftest import CHOICE, QUESTION, SHOP, Json, Memory, Shop
from tests.support.transcripts import ClaudeTranscript, write_repository, write_work_tree

REPOSITORY = {"kind": "repository", "identity": SHOP}
CONFIG = "/c/config.toml"


def ask(memory: Memory, name: str, **request: object) -> Json:
    result: Json = getattr(chats, name)(memory.call, validate(name, request))
    return result


def deny(memory: Memory, *entries: str) -> None:
    memory.set(deny=entries, file=CONFIG)


@pytest.fixture
def saved(memory: Memory, shop: Shop, other_shop: ClaudeTranscript) -> dict[str, str]:
    """Records of the shop, of its chat and folder, and of another project."""
    folder = str(memory.projects / "w" / "shop")
    other = str(memory.projects / "w2" / "shop")
    found = {
        "shop": memory.candidate("Shop?"),
        "chat": memory.candidate("Chat?", scope={"kind": "chat", "id": shop.chat}),
        "folder": memory.candidate("Folder?", scope={"kind": "local_project", "path": folder}),
        "other": memory.candidate("Other?", "s-9", scope={"kind": "local_project", "path": other}),
    }
    memory.index()
    return {name: receipt["id"] for name, receipt in found.items()}


@pytest.fixture(params=["identity", "path", "folder above", "spelling"])
def denied(memory: Memory, saved: dict[str, str], request: pytest.FixtureRequest) -> dict[str, str]:
    clone = memory.projects / "w" / "shop"
    named = {
        "identity": SHOP,
        "path": str(clone),
        "folder above": str(clone.parent),
        "spelling": f"git@{SHOP.replace('/', ':', 1)}.git",
    }
    deny(memory, named[request.param])
    return saved


def test_the_tools_say_that_a_project_is_left_out(
    memory: Memory, shop: Shop, denied: dict[str, str]
) -> None:
    folder = {"kind": "local_project", "path": str(memory.projects / "w" / "shop")}
    scopes = (REPOSITORY, folder, {"kind": "chat", "id": shop.chat})
    calls: list[Callable[[], Json]] = [
        lambda: memory.get(denied["shop"]),
        lambda: memory.pages(chat=shop.chat),
        lambda: ask(memory, "get_chat", id=shop.chat),
        lambda: memory.candidate("New?", scope={"kind": "personal"}),
        lambda: memory.create(
            {"statement": "New?", "details": {"kind": "decision", "state": "proposed"}},
            [{"message_id": shop.choice, "quote": CHOICE}],
            scope={"kind": "personal"},
        ),
    ]
    for scope in scopes:
        calls += [
            lambda scope=scope: memory.recall(scope=scope),  # type: ignore[misc]
            lambda scope=scope: memory.pages(scope=scope),  # type: ignore[misc]
            lambda scope=scope: memory.candidate("New?", scope=scope),  # type: ignore[misc]
            lambda scope=scope: ask(memory, "list_chats", scope=scope),  # type: ignore[misc]
            lambda scope=scope: ask(memory, "search_chats", query="qdrant", scope=scope),  # type: ignore[misc]
        ]
    for number, call in enumerate(calls):
        with pytest.raises(RecordsDisabled) as caught:
            pytest.fail(f"call {number} answered {call()}")
        assert "[projects] deny in /c/config.toml" in caught.value.message
    assert memory.waited == []
    assert memory.count_records() == 4


def test_lists_leave_a_projects_rows_out_and_nothing_is_deleted(
    memory: Memory, denied: dict[str, str]
) -> None:
    assert [r["id"] for r in memory.pages(include_inactive=True)["records"]] == [denied["other"]]
    assert [c["session_id"] for c in ask(memory, "list_chats")["chats"]] == ["s-9"]
    hits = ask(memory, "search_chats", query="vector store locally")["hits"]
    assert {hit["chat_id"] for hit in hits} == {"claude-code-s-9"}
    deny(memory)
    assert len(memory.pages(include_inactive=True)["records"]) == 4
    assert len(ask(memory, "list_chats")["chats"]) == 2


def test_a_page_of_which_all_is_left_out_leads_to_the_next(
    memory: Memory, saved: dict[str, str], second_shop: ClaudeTranscript
) -> None:
    second_shop.person("One more.")
    memory.index()
    deny(memory, SHOP)
    page = ask(memory, "list_chats", limit=1)
    found: list[Json] = list(page["chats"])
    while page["next_offset"] is not None:
        page = ask(memory, "list_chats", limit=1, offset=page["next_offset"])
        found += page["chats"]
    assert [chat["session_id"] for chat in found] == ["s-9"]


def test_other_projects_are_not_touched(memory: Memory, denied: dict[str, str]) -> None:
    other = {"kind": "local_project", "path": str(memory.projects / "w2" / "shop")}
    assert len(memory.recall(scope=other)["records"]) == 1
    assert memory.candidate("New?", "s-9", scope=other)["id"]


def test_a_clone_that_is_not_left_out_keeps_the_repositorys_records(
    memory: Memory, saved: dict[str, str]
) -> None:
    clone = memory.projects / "w3" / "shop"
    ClaudeTranscript(memory.claude_root, str(clone), "s-6").person(QUESTION)
    memory.index()
    deny(memory, str(memory.projects / "w"))
    assert [r["id"] for r in memory.recall(scope=REPOSITORY)["records"]] == [saved["shop"]]
    assert [c["session_id"] for c in ask(memory, "list_chats", scope=REPOSITORY)["chats"]] == [
        "s-6"
    ]


def test_a_linked_work_tree_is_left_out_with_its_main_one(memory: Memory) -> None:
    main = write_repository(memory.projects / "main", "git@github.com:acme/main.git")
    tree = write_work_tree(main, memory.projects / "tree")
    ClaudeTranscript(memory.claude_root, str(tree), "s-7").person(QUESTION)
    memory.index()
    deny(memory, str(main))
    assert ask(memory, "list_chats")["chats"] == []
    with pytest.raises(RecordsDisabled):
        memory.recall(scope={"kind": "repository", "identity": "github.com/acme/main"})


def off_by_list(memory: Memory, folder: Path, name: str) -> str:
    memory.set(**{name: (str(folder),)}, file=CONFIG)
    return f"[projects] {name} in {CONFIG} names {folder}"


def off_by_marker(_memory: Memory, folder: Path, text: str) -> str:
    (folder / ".mash").write_text(text)
    return f"{folder}/.mash says so"


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(
    ("switch", "value"),
    [
        (off_by_list, "no_index"),
        (off_by_list, "deny"),
        (off_by_marker, "index = off\n"),
        (off_by_marker, ""),
    ],
)
def test_a_project_that_is_not_read_is_told_with_its_switch(
    memory: Memory,
    shop: Shop,
    switch: Callable[[Memory, Path, str], str],
    value: str,
    is_indexed: bool,
) -> None:
    if is_indexed:
        memory.index()
    named = switch(memory, memory.projects / "w" / "shop", value)
    settings = memory.call.settings
    memory.call.chats._deny = lambda: settings.deny + settings.no_index
    shop.transcript.person("Something new.")
    with pytest.raises(RecordsDisabled) as caught:
        memory.create(
            {"statement": "New?", "details": {"kind": "decision", "state": "proposed"}},
            [{"session_id": "s-1", "quote": "Something new."}],
            scope={"kind": "personal"},
        )
    assert named in caught.value.message or "[projects] deny in /c/config.toml" in (
        caught.value.message
    )
    assert memory.waited == []


def test_an_unknown_session_is_still_an_unknown_session(memory: Memory, shop: Shop) -> None:
    deny(memory, "/somewhere/else")
    with pytest.raises(MashError) as caught:
        memory.candidate("New?", "s-404")
    assert caught.value.code == "session_not_found"


def list_capture(memory: Memory, folder: Path) -> None:
    memory.set(no_capture=(str(folder),), file=CONFIG)


def list_owner(memory: Memory, _folder: Path) -> None:
    memory.set(no_capture=("github.com/acme/*",), file=CONFIG)


def mark_capture(_memory: Memory, folder: Path) -> None:
    (folder / ".mash").write_text("capture = off\n")


@pytest.mark.parametrize("switch", [list_capture, list_owner, mark_capture])
def test_nothing_is_saved_of_a_project_without_capture(
    memory: Memory,
    shop: Shop,
    saved: dict[str, str],
    switch: Callable[[Memory, Path], None],
) -> None:
    switch(memory, memory.projects / "w" / "shop")
    said = {"message_id": shop.choice, "quote": CHOICE}
    body = {"statement": "New?", "details": {"kind": "decision", "state": "proposed"}}
    review: Json = {"chat_id": shop.chat, "scope": REPOSITORY}
    head = {"id": saved["shop"], "revision": 1}
    calls: list[Callable[[], Json]] = [
        lambda: memory.candidate("New?"),
        lambda: memory.candidate("New?", scope={"kind": "personal"}),
        lambda: memory.create(body, [said], scope={"kind": "chat", "id": shop.chat}),
        lambda: memory.change("revise", head, body=body, evidence=[said]),
        lambda: memory.change("confirm", head, evidence=[said]),
        lambda: get_extraction_checkpoint(
            memory.call, validate("get_extraction_checkpoint", review)
        ),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(RecordsDisabled) as caught:
            pytest.fail(f"call {number} answered {call()}")
        assert "no_capture" in caught.value.message
    assert memory.count_records() == 4
    assert memory.recall(scope=REPOSITORY)["records"]
    assert memory.change("forget", head)["forgotten"]


def test_no_record_of_a_project_without_recall_is_recalled_but_lists_show_it(
    memory: Memory, saved: dict[str, str]
) -> None:
    (memory.projects / "w" / "shop" / ".mash").write_text("recall = off\n")
    folder = {"kind": "local_project", "path": str(memory.projects / "w" / "shop")}
    for scope in (REPOSITORY, folder):
        with pytest.raises(RecordsDisabled, match="no_recall"):
            memory.recall(scope=scope)
        assert memory.pages(scope=scope, include_inactive=True)["records"]
    other = {"kind": "local_project", "path": str(memory.projects / "w2" / "shop")}
    assert memory.recall(scope=other)["records"]
    assert memory.candidate("New?")["id"]


def test_what_was_read_before_a_project_went_unread_is_neither_shown_nor_cited(
    memory: Memory, shop: Shop, saved: dict[str, str]
) -> None:
    marker = memory.projects / "w" / "shop" / ".mash"
    marker.write_text("index = off\n")
    assert [c["session_id"] for c in ask(memory, "list_chats")["chats"]] == ["s-9"]
    hits = ask(memory, "search_chats", query="vector store locally")["hits"]
    assert {hit["chat_id"] for hit in hits} == {"claude-code-s-9"}
    calls: list[Callable[[], Json]] = [
        lambda: ask(memory, "get_chat", id=shop.chat),
        lambda: ask(memory, "search_chats", query="qdrant", scope=REPOSITORY),
        lambda: memory.create(
            {"statement": "New?", "details": {"kind": "decision", "state": "proposed"}},
            [{"message_id": shop.choice, "quote": CHOICE}],
            scope={"kind": "personal"},
        ),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(RecordsDisabled) as caught:
            pytest.fail(f"call {number} answered {call()}")
        assert "mash forget-project" in caught.value.message
    assert memory.recall(scope=REPOSITORY)["records"]
    marker.unlink()
    assert len(ask(memory, "list_chats")["chats"]) == 2


def test_a_marker_in_one_clone_leaves_the_repository_to_the_others(
    memory: Memory, saved: dict[str, str]
) -> None:
    clone = memory.projects / "w3" / "shop"
    ClaudeTranscript(memory.claude_root, str(clone), "s-6").person(QUESTION)
    memory.index()
    (memory.projects / "w" / "shop" / ".mash").write_text("")
    assert memory.candidate("New?", "s-6")["id"]
    with pytest.raises(RecordsDisabled):
        memory.candidate("Newer?", "s-1")
    shown = {c["session_id"] for c in ask(memory, "list_chats")["chats"]}
    assert shown == {"s-6", "s-9"}
    (clone / ".mash").write_text("off")
    with pytest.raises(RecordsDisabled):
        memory.recall(scope=REPOSITORY)
