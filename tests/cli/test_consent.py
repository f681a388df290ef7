"""What only a person may agree to is asked at a terminal."""

import pytest

from tests.setup.terminals import at_terminal, on_a_terminal
from tests.support.homes import Home


@pytest.mark.parametrize("command", ["uninstall", "restore"])
def test_where_nobody_can_be_asked_the_command_is_refused_and_yes_is_named(
    fresh: Home, command: str
) -> None:
    fresh.mash("daemon", "start")
    fresh.mash("backup", "make")
    done = fresh.mash(command)
    assert done.code == 2
    assert "add --yes" in done.err
    assert fresh.mash("status").code == 0


def test_no_at_the_terminal_leaves_everything_and_says_so(fresh: Home) -> None:
    fresh.mash("daemon", "start")
    fresh.mash("backup", "make")
    code, shown = on_a_terminal(fresh, "n\n", "mash", "restore")
    assert (code, "Nothing was changed." in shown) == (1, True)
    assert fresh.mash("status").code == 0


def test_an_answer_that_is_neither_yes_nor_no_is_asked_for_again(fresh: Home) -> None:
    fresh.mash("daemon", "start")
    fresh.mash("backup", "make")
    command = ("mash", "restore")
    code, shown = at_terminal(command, fresh.environment, fresh.home, ["sure\n", "n\n"])
    assert (code, "Please answer y or n." in shown) == (1, True)
    assert "Error" not in shown


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_THREAD_ID"])
def test_no_agent_forgets_for_good_in_its_session_even_with_yes(home: Home, variable: str) -> None:
    for command in (
        ["forget-project", ".", "--yes"],
        ["forget", "claude-code-0f8fad5b", "--yes"],
        ["uninstall", "--data", "--yes"],
    ):
        done = home.mash(*command, env={variable: "1"})
        assert (done.code, done.out) == (2, ""), command
        assert f"this is an agent's session ({variable} is set)" in done.err
    assert home.mash("status").code == 0


def test_an_agent_may_look_at_what_would_go(home: Home) -> None:
    for command in (["forget-project", ".", "--dry-run"], ["uninstall", "--data", "--dry-run"]):
        done = home.mash(*command, env={"CLAUDECODE": "1"})
        assert "agent's session" not in done.err
        assert done.code != 2
