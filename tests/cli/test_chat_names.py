"""Chats are named by the beginning of their ID."""

from pathlib import Path

import pytest

from tests.cli.test_chats_commands import write_chat
from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.saved import WORDS, save
from tests.support.transcripts import ClaudeTranscript

FIRST = "11111111-aaaa-4aaa-8aaa-111111111111"
SECOND = "11111111-bbbb-4bbb-8bbb-111111111111"


@pytest.fixture
def told(fresh: Home) -> Home:
    """A home with two chats whose IDs begin alike, and one of another session."""
    (clone,) = fresh.repository("shop")
    for session in (FIRST, SECOND):
        ClaudeTranscript(fresh.claude, str(clone), session).person(f"We talk in {session}.")
    write_chat(fresh, clone, WORDS)
    fresh.mash("init", "--yes", "--no-agents")
    return fresh


def test_a_beginning_is_enough_where_one_chat_alone_has_it(told: Home) -> None:
    for start in ("11111111-a", f"claude-code-{FIRST[:12]}"):
        shown = told.mash("chats", start)
        assert f"We talk in {FIRST}." in shown.out, shown
    both = told.mash("chats", "11111111")
    assert (both.code, f"claude-code-{SECOND}" in both.err) == (1, True)
    assert "give more of the ID" in both.err
    assert "is too short" in told.mash("chats", "1111").err
    assert "No chat has the ID 'nothing-like-it'" in told.mash("chats", "nothing-like-it").err


def test_what_goes_for_good_is_named_whole_before_it_goes(told: Home, tmp_path: Path) -> None:
    assert f"Chat     claude-code-{FIRST}" in told.mash("forget", "11111111-a", "--dry-run").out
    assert told.mash("forget", "11111111", "--yes").code == 1
    assert "1 chat" in told.mash("export", "--scope", "chat:11111111-b", "--out", "one.gz").out


def test_the_newest_chat_is_named_so_and_never_forgotten_unasked(told: Home) -> None:
    newest = told.mash("chats").out.splitlines()[1].split()[-1]
    assert f"Chat     {newest}" in told.mash("forget", "newest", "--dry-run").out
    done = told.mash("forget", "newest", "--yes")
    assert (done.code, "give its ID" in done.err) == (2, True)
    code, shown = on_a_terminal(told, "n\n", "mash", "forget", "newest")
    assert (code, newest in shown) == (1, True)


def test_without_chats_there_is_no_newest(fresh: Home) -> None:
    assert "There is no chat in the index" in fresh.mash("chats", "newest").err


def test_a_session_that_is_named_too_shortly_is_not_one_that_saved_nothing(told: Home) -> None:
    save(told, "established", "Invoices are rendered with Typst.")
    code, shown = on_a_terminal(told, "", "mash", "withdraw", "--session", "1111")
    assert (code, "is too short" in shown) == (1, True)
