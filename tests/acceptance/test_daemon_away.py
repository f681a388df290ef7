"""A daemon that is killed, stopped or absent never costs the person a turn or a record."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import fake_openai
from tests.support.installed import Installed
from tests.support.model_server import Body
from tests.support.polling import eventually
from tests.support.processes import daemons_of
from tests.support.saved import decide
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
SAID = "Amounts in src/ledger.py stay integers, that's decided."
Away = Callable[[], None]


@pytest.fixture(params=["killed", "stopped", "absent"])
def away(request: pytest.FixtureRequest, person: Installed) -> Iterator[Away]:
    """Put the daemon into this state, whatever state it is in; it is well again afterwards."""

    def take_away() -> None:
        if request.param == "absent":
            person.home.mash("daemon", "stop")
        for pid in daemons_of(person.home.root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if request.param == "stopped" else signal.SIGKILL)

    yield take_away
    for pid in daemons_of(person.home.root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def assert_nothing_is_lost(person: Installed, name: str, words: str) -> None:
    for pid in daemons_of(person.home.root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert [record["statement"] for record in person.home.records(name)] == [SAID]
    person.home.mash("index")

    def found() -> list[Any]:
        hits: list[Any] = person.home.call("search_chats", {"query": words})["hits"]
        return hits

    assert eventually(found, f"the chat with {words!r} is in the index")


@pytest.mark.spec("R-132", "R-182")
def test_claude_code_completes_its_turns_whatever_happened_to_the_daemon_at_every_hook(
    person: Installed, name: str, clone: Path, open_claude: Callable[[Path], Terminal], away: Away
) -> None:
    person.decide(open_claude(clone), SAID, SAID)
    path = str(clone / "src" / "ledger.py")

    def read(_body: Body) -> dict[str, Any]:
        away()  # before PreToolUse
        return {"tool": "Read", "input": {"file_path": path}}

    def end(_body: Body) -> dict[str, Any]:
        away()  # before Stop
        return {"text": "this turn is complete"}

    person.anthropic.when("Read it", read, end)
    person.anthropic.when("Once more", {"text": "the last turn too"})
    away()  # before SessionStart and UserPromptSubmit
    terminal = open_claude(clone)
    terminal.type(f"Read it for {name}")
    terminal.wait_for("this turn is complete")
    away()  # before UserPromptSubmit
    terminal.type("Once more please")
    terminal.wait_for("the last turn too")
    away()  # before SessionEnd
    terminal.type("/exit")
    terminal.wait_for_end()
    assert "hook error" not in terminal.screen()
    assert_nothing_is_lost(person, name, f"Read it for {name}")
    assert person.home.mash("daemon", "start").code == 0
    person.home.codex_exec("Look around", clone)
    assert SAID in fake_openai.context_of(person.openai.bodies[-1]), "the next is told again"


@pytest.mark.spec("R-132", "R-182")
def test_codex_completes_its_turns_whatever_happened_to_the_daemon_at_every_hook(
    person: Installed,
    name: str,
    clone: Path,
    open_codex: Callable[[Path], Terminal],
    away: Away,
) -> None:
    decide(person.home, name, clone, SAID, SAID)

    def read(_body: Body) -> dict[str, Any]:
        away()  # before PostToolUse
        return {"call": "exec_command", "args": {"cmd": "cat src/ledger.py"}}

    def end(_body: Body) -> dict[str, Any]:
        away()  # before Stop
        return {"text": "this turn is complete"}

    person.openai.when("Read it", read, end)
    person.openai.when("Once more", {"text": "the last turn too"})
    terminal = open_codex(clone)
    away()  # before SessionStart and UserPromptSubmit, which come with the first prompt
    terminal.type(f"Read it for {name}")
    terminal.wait_for("this turn is complete")
    away()  # before UserPromptSubmit
    terminal.type("Once more please")
    screen = terminal.wait_for("the last turn too")
    assert "Failed" not in screen
    assert_nothing_is_lost(person, name, f"Read it for {name}")
