"""`mash index`, `mash search` and `mash chats` over the transcripts of both agents."""

import json
from pathlib import Path

import pytest

from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.transcripts import ClaudeTranscript

SESSION = "8b79a219-7085-427c-8b3d-c60523823739"


def write_chat(home: Home, folder: Path, text: str) -> None:
    """One typed prompt as Claude Code 2.1.332 writes it."""
    line = {
        "type": "user",
        "uuid": "3f0f6d0e-0000-4000-8000-000000000001",
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": SESSION,
        "timestamp": "2026-11-30T09:00:00.000Z",
        "cwd": str(folder),
        "version": "2.1.332",
        "userType": "external",
        "origin": {"kind": "human"},
        "promptSource": "typed",
        "turnOrigin": "human",
        "message": {"role": "user", "content": text},
    }
    file = home.claude / "projects/-work/" / f"{SESSION}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(line) + "\n")


@pytest.mark.spec("R-158")
def test_what_was_said_is_found_at_the_terminal_in_any_script(fresh: Home) -> None:
    (clone,) = fresh.repository("shop")
    text = "我们用 Postgres 存储用户身份, \x1b[31m<b>décidé</b>\x1b[0m."
    write_chat(fresh, clone, text)
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    done = fresh.mash("index")
    assert done.code == 0, done  # the daemon may have read it by then
    assert "Reading chats" in done.err
    for words in (["postgres"], ["用户身份"], ["décidé"]):
        found = fresh.mash("search", *words)
        assert found.code == 0, found
        assert "用户身份" in found.out
        assert "\x1b" not in found.out
    here = fresh.mash("search", "--here", "postgres", cwd=clone)
    assert here.code == 0
    elsewhere = fresh.mash("search", "--here", "postgres", cwd=fresh.home)
    assert elsewhere.code == 1
    listed = fresh.mash("chats")
    assert "host.example/team/shop" in listed.out
    printed = fresh.mash("search", "postgres").out
    assert f"    claude-code  {clone}  claude-code-{SESSION}" in printed.splitlines()
    assert "    user: 我们用 Postgres" in printed
    page = fresh.mash("chats", f"claude-code-{SESSION}")
    assert page.code == 0, page
    assert "claude-code  host.example/team/shop" in page.out
    assert "user (person)" in page.out
    assert "用户身份" in page.out
    assert "\x1b" not in page.out
    (hit,) = json.loads(fresh.mash("search", "--json", "postgres").out)["hits"]
    assert hit["author"] == "person"


def test_a_hit_without_the_word_says_why_it_is_one(fresh: Home) -> None:
    (clone,) = fresh.repository("shop")
    chat = ClaudeTranscript(fresh.claude, str(clone), SESSION)
    chat.person("Why is lumen slow?")
    chat.agent("It reads everything twice.")
    fresh.mash("init", "--yes", "--no-agents")
    found = fresh.mash("search", "lumen").out
    assert "    assistant: It reads everything twice.\n" in found
    assert "      found as it follows user: Why is lumen slow?\n" in found


def test_nothing_found_is_exit_code_1_with_a_hint(home: Home) -> None:
    done = home.mash("search", "nowhere")
    assert done.code == 1
    assert done.out == ""
    assert "mash index" in done.err


def test_an_unknown_chat_and_an_empty_list_say_so(home: Home) -> None:
    done = home.mash("chats", "claude-code-unknown")
    assert done.code == 1
    assert "claude-code-unknown" in done.err
    assert "`mash chats` lists the IDs" in done.err
    done = home.mash("chats")
    assert done.code == 0
    assert "No chats here" in done.err


def test_where_nothing_is_to_be_read_no_share_of_it_is_told(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    code, shown = on_a_terminal(fresh, "", "mash", "index")
    assert code == 0
    assert "%" not in shown
    assert shown.endswith("\rChats: nothing new.\r\n")
