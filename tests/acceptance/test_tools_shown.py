"""What the agents show their models of the tools, and ask of the person before hooks run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.installed import Installed
from tests.support.saving import CLAUDE_RECORD, FIND_RECORD, LOAD_RECORD, codex_records
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
FIELDS = (
    *("operation_id", "action", "scope", "identity", "body", "statement", "review", "details"),
    *("kind", "state", "decided_by", "evidence", "session_id", "message_id", "quote", "purpose"),
)


def test_the_model_of_claude_code_sees_the_fields_of_create(person: Installed, clone: Path) -> None:
    person.anthropic.when("Look for the tool", LOAD_RECORD, {"text": "seen"})
    assert person.home.claude_print("Look for the tool", clone).out.strip() == "seen"
    shown = [tool for tool in person.anthropic.bodies[-1]["tools"] if tool["name"] == CLAUDE_RECORD]
    text = json.dumps(shown)
    assert [field for field in FIELDS if f'"{field}"' not in text] == []
    assert "$ref" not in text


def test_the_model_of_codex_sees_the_fields_of_create(person: Installed, clone: Path) -> None:
    person.openai.when("Look for the tool", FIND_RECORD, {"text": "seen"})
    assert person.home.codex_exec("Look for the tool", clone).out.strip() == "seen"
    body = person.openai.bodies[-1]
    text = json.dumps([item for item in body["input"] if item["type"] == "tool_search_output"])
    assert [field for field in FIELDS if f'"{field}"' not in text] == []
    assert "$ref" not in text


@pytest.mark.spec("R-153")
def test_codex_hooks_wait_for_the_persons_review_and_init_says_so(installed: Installed) -> None:
    assert len(installed.hooks_before_trust) == 5
    assert set(installed.hooks_before_trust.values()) == {"untrusted"}
    assert "/hooks" in installed.init_output


def test_codex_asks_the_person_before_it_saves(
    person: Installed, clone: Path, open_codex: Callable[[Path], Terminal], name: str
) -> None:
    said = "We go with Typst for the invoices."
    records = codex_records("Invoices use Typst.", said)
    person.openai.when("Typst", FIND_RECORD, records, {"text": "kept it"})
    terminal = open_codex(clone)
    terminal.type(said)
    terminal.wait_for("Allow")
    assert person.home.records(name) == []
    terminal.press("Enter")
    terminal.wait_for("kept it")
    [record] = person.home.records(name)
    assert record["review"] == "established"
    assert record["recorded_by"] == "codex"
