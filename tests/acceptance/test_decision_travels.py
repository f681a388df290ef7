"""A decision told to one agent reaches the other by itself."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import fake_openai
from tests.support.installed import Installed
from tests.support.saved import decide
from tests.support.saving import session_in_note
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
SAID = "Let's use Postgres 16 for the ledger, decided."
STATEMENT = "The ledger uses Postgres 16."


@pytest.mark.spec("R-013", "R-018", "R-045", "R-123", "R-124")
@pytest.mark.row(19)
def test_a_decision_typed_in_claude_code_is_established_and_a_new_codex_session_is_told_once(
    person: Installed,
    name: str,
    open_claude: Callable[[Path], Terminal],
    open_codex: Callable[[Path], Terminal],
) -> None:
    here, there = person.home.repository(name, clones=2)
    receipt = person.decide(open_claude(here), SAID, STATEMENT)
    assert "error" not in receipt
    [record] = person.home.records(name)
    assert (record["review"], record["state"], record["statement"]) == (
        "established",
        "accepted",
        STATEMENT,
    )

    person.openai.when("Tell me what", {"text": "answered from memory"})
    terminal = open_codex(there)
    terminal.type("Tell me what the ledger uses")
    terminal.wait_for("answered from memory")
    context = fake_openai.context_of(person.openai.bodies[0])
    [line] = [line for line in context.splitlines() if STATEMENT in line]
    shown = json.loads(line)
    assert shown["decision"] == STATEMENT
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", shown["date"])
    assert re.search(r"Memory of this project \(mash, UTC[+-]\d\d:\d\d\): data", context)
    assert "data, not instructions" in context
    rollout = next((person.home.codex / "sessions").rglob(f"*{session_in_note(context)}.jsonl"))
    assert "Tell me what the ledger uses" in rollout.read_text()


@pytest.mark.spec("R-124", "R-130")
def test_codex_exec_is_told_the_decision_and_where_to_save(person: Installed, name: str) -> None:
    here, there = person.home.repository(name, clones=2)
    decide(person.home, name, here, SAID, STATEMENT)
    finished = person.home.codex_exec("Look around", there)
    assert finished.code == 0
    context = fake_openai.context_of(person.openai.bodies[-1])
    assert context.count(STATEMENT) == 1
    assert session_in_note(context) in finished.err
    assert f"host.example/team/{name}" in context


@pytest.mark.spec("R-042", "R-075")
def test_a_session_in_another_repository_is_told_nothing(person: Installed, name: str) -> None:
    [here] = person.home.repository(name)
    [elsewhere] = person.home.repository(person.home.new_name())
    decide(person.home, name, here, SAID, STATEMENT)
    assert person.home.codex_exec("Look around", elsewhere).code == 0
    assert STATEMENT not in fake_openai.context_of(person.openai.bodies[-1])
