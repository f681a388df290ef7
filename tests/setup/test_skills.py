"""What the two skills teach, and that they teach nothing that does not exist."""

import json
import re

import pytest

from mash_plugin.protocol import tool_schemas, validate
from tests.support.homes import ROOT

REMEMBER = (ROOT / "skills/remember/SKILL.md").read_text()
RECALL = (ROOT / "skills/recall/SKILL.md").read_text()
LATER_TOOLS = {"find_record_matches"}


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


@pytest.mark.spec("R-140", "R-111")
def test_saving_is_taught_from_reading_the_source_to_forgetting() -> None:
    assert headings(REMEMBER) == [
        "When to save",
        "Read the source discussion first",
        "Look for matches before create",
        "Cite exact words",
        "Prefer candidate when unsure",
        "Correct, withdraw, forget",
    ]
    assert "find_record_matches" in REMEMBER


@pytest.mark.spec("R-140", "R-082")
def test_recalling_is_taught_with_inspection_of_what_matters() -> None:
    assert "Inspect important memory before relying on it" in headings(RECALL)
    assert "Read the source discussion" in headings(RECALL)
    assert "list_records" in RECALL


@pytest.mark.spec("R-071")
def test_a_changed_meaning_is_revised_or_superseded_not_created_again() -> None:
    text = " ".join(REMEMBER.split())
    assert (
        "If the meaning has changed, use `revise` or `supersede` instead of another `create`"
        in text
    )


@pytest.mark.spec("R-002")
@pytest.mark.parametrize("text", [REMEMBER, RECALL])
def test_no_skill_calls_a_record_true(text: str) -> None:
    assert not re.search(r"\b(verified|proven|confirmed true)\b", text, re.IGNORECASE)
    assert re.search(r"not (?:a )?proof|not that it is right", " ".join(text.split()))
    assert "reported_by" in text


@pytest.mark.parametrize(("name", "text"), [("remember", REMEMBER), ("recall", RECALL)])
def test_both_hosts_can_read_the_head_of_a_skill(name: str, text: str) -> None:
    _, head, _ = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == name
    assert len(fields["description"]) < 1024
    assert set(fields) == {"name", "description"}


def test_every_tool_that_a_skill_names_exists_or_is_called_one_of_a_later_version() -> None:
    offered = {str(tool["name"]) for tool in tool_schemas()}
    for text in (REMEMBER, RECALL):
        named = set(re.findall(r"`(\w+_(?:records?|chats?|record_matches))`", text))
        assert named <= offered | LATER_TOOLS
        assert "where the server offers it" in text or not named & LATER_TOOLS


def test_the_example_is_a_request_that_the_tool_accepts() -> None:
    example = re.search(r"```json\n(.*?)```", REMEMBER, re.DOTALL)
    assert example
    request = validate("record", json.loads(example[1]))
    assert request["change"]["action"] == "create"


def test_no_action_or_command_is_promised_that_this_version_does_not_have() -> None:
    text = " ".join(REMEMBER.split())
    assert "on their terminal can do it" not in text
    assert "save no second record in its place" in text
    assert "tell the person" in text
    change = next(t for t in tool_schemas() if t["name"] == "record")["inputSchema"]
    assert change["properties"]["change"]["properties"]["action"]["enum"] == ["create"]
    assert "This version lists `create` alone" in text
