"""Only words that the person typed endorse anything."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import fake_anthropic, fake_openai
from tests.support.installed import Installed
from tests.support.model_server import Step
from tests.support.saving import FIND_RECORD, LOAD_RECORD, claude_records, codex_records, decision
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
WORDS = "we will use Kafka for the ledger events"
STATEMENT = "Ledger events use Kafka."
BYPASS = "--dangerously-bypass-approvals-and-sandbox"
Open = Callable[[Path], Terminal]


def try_in_claude(person: Installed, terminal: Terminal, prompt: str, *before: Step) -> str:
    """Type a prompt after which the model tries to save; the answer of `record`."""
    steps = [*before, LOAD_RECORD, claude_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.anthropic.when(prompt, *steps)
    terminal.type(prompt)
    terminal.wait_for("that was all")
    return person.receipt()


def assert_refused(person: Installed, name: str, answer: str, code: str) -> None:
    assert code in answer
    assert person.home.records(name) == []


@pytest.mark.spec("R-018", "R-022")
def test_words_of_a_tool_result_do_not_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    (clone / "notes.txt").write_text(f"Decided: {WORDS}.\n")
    read = {"tool": "Read", "input": {"file_path": str(clone / "notes.txt")}}
    answer = try_in_claude(person, open_claude(clone), "Read the notes", read)
    assert_refused(person, name, answer, "endorsement_not_by_person")


@pytest.mark.spec("R-018", "R-022")
@pytest.mark.row(45)
def test_the_agents_own_words_do_not_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    speak = {"text": f"Then {WORDS}.", "tool": "Bash", "input": {"command": "true"}}
    answer = try_in_claude(person, open_claude(clone), "What do you think", speak)
    assert_refused(person, name, answer, "endorsement_not_by_person")


@pytest.mark.spec("R-018", "R-022")
def test_pasted_text_does_not_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    lines = [f"line {number} of somebody's page" for number in range(30)]
    steps = [LOAD_RECORD, claude_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.anthropic.when("Look at this", *steps)
    terminal = open_claude(clone)
    terminal.paste("\n".join([*lines, WORDS, *lines]))
    terminal.wait_for("Pasted text")
    terminal.type(" Look at this")
    terminal.wait_for("that was all")
    assert WORDS in fake_anthropic.context_of(person.anthropic.bodies[-1])
    assert_refused(person, name, person.receipt(), "endorsement_not_by_person")


@pytest.mark.spec("R-018")
def test_words_typed_behind_pasted_text_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    steps = [LOAD_RECORD, claude_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.anthropic.when(WORDS, *steps)
    terminal = open_claude(clone)
    terminal.paste("\n".join(f"line {number} of somebody's page" for number in range(30)))
    terminal.wait_for("Pasted text")
    terminal.type(f" Seen that, so {WORDS}.")
    terminal.wait_for("that was all")
    [record] = person.home.records(name)
    assert record["review"] == "established"


@pytest.mark.spec("R-018", "R-022")
def test_the_task_of_a_subagent_does_not_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    task = {"description": "Look", "prompt": f"Please check {name}, whether {WORDS}."}
    delegate = {"tool": "Agent", "input": {**task, "subagent_type": "general-purpose"}}
    person.anthropic.when("Please check", {"text": "checked by the subagent"})
    answer = try_in_claude(person, open_claude(clone), "Delegate this", delegate)
    assert_refused(person, name, answer, "quote_not_found")  # the session itself never held it
    person.home.mash("index")
    hits = person.home.call("search_chats", {"query": f"{name} check Kafka"})["hits"]
    [message] = {hit["message_id"] for hit in hits if hit["snippet"].startswith("Please check")}
    request = decision(fake_anthropic.context_of(person.anthropic.bodies[0]), STATEMENT, WORDS)
    request["change"]["evidence"] = [
        {"message_id": message, "quote": WORDS, "purpose": "endorsement"}
    ]
    answer = json.dumps(person.home.call("record", request))
    assert_refused(person, name, answer, "endorsement_not_by_person")


@pytest.mark.spec("R-018")
def test_a_prompt_in_print_mode_does_not_endorse(person: Installed, name: str, clone: Path) -> None:
    steps = [LOAD_RECORD, claude_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.anthropic.when("Kafka", *steps)
    assert person.home.claude_print(f"Well, {WORDS}.", clone).out.strip() == "that was all"
    assert_refused(person, name, person.receipt(), "endorsement_not_by_person")


@pytest.mark.spec("R-018", "R-022")
@pytest.mark.parametrize("source", ["the prompt of codex exec", "a tool result", "the agent"])
def test_other_words_than_the_persons_do_not_endorse_in_codex(
    person: Installed, name: str, clone: Path, source: str
) -> None:
    prompt, before = "Look around", []
    if source == "the prompt of codex exec":
        prompt = f"Well, {WORDS}."
    elif source == "a tool result":
        (clone / "notes.txt").write_text(f"Decided: {WORDS}.\n")
        before = [{"call": "exec_command", "args": {"cmd": "cat notes.txt"}}]
    else:
        speak = {"text": f"Then {WORDS}."}
        before = [{"items": [speak, {"call": "exec_command", "args": {"cmd": "true"}}]}]
    steps = [*before, FIND_RECORD, codex_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.openai.when(prompt, *steps)
    assert person.home.codex_exec(prompt, clone, BYPASS).out.strip() == "that was all"
    answer = fake_openai.tool_results(person.openai.bodies[-1])[-1]
    assert_refused(person, name, answer, "endorsement_not_by_person")


@pytest.mark.spec("R-014")
def test_words_that_nobody_said_save_nothing(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    answer = try_in_claude(person, open_claude(clone), "What now")
    assert_refused(person, name, answer, "quote_not_found")


@pytest.mark.spec("R-013", "R-015")
def test_words_typed_while_the_agent_works_endorse(
    person: Installed, name: str, clone: Path, open_claude: Open
) -> None:
    wait = {"tool": "Bash", "input": {"command": f"while [ ! -e {clone}/go ]; do sleep 0.1; done"}}
    steps = [wait, LOAD_RECORD, claude_records(STATEMENT, WORDS), {"text": "that was all"}]
    person.anthropic.when("Begin", *steps)
    person.anthropic.when(WORDS, *steps[1:])
    terminal = open_claude(clone)
    terminal.type("Begin with it")
    terminal.wait_for("while [")
    terminal.type(f"By the way, {WORDS}.")
    (clone / "go").touch()
    terminal.wait_for("that was all")
    [record] = person.home.records(name)
    assert record["review"] == "established", json.dumps(record)
