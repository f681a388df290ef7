"""Nobody's words become a person's, however the lines of tools and agents are spoilt."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mash_plugin.agents import AGENTS
from mash_plugin.agents.events import ReaderState, TranscriptFile
from tests.fuzz.agents_targets import kinds_of_rows
from tests.fuzz.shapes import damaged, json_bytes, spoilt

EXAMPLES = 300
META = {"type": "session_meta", "payload": {"id": "t", "cwd": "/p", "source": "cli"}}
TURN = {
    "type": "event_msg",
    "payload": {"type": "task_started", "turn_attribution": {"turn_trigger": "user"}},
}


def _is_of_claude(row: dict[str, Any]) -> bool:
    content = row.get("message", {}).get("content") if row.get("type") == "user" else None
    is_output = isinstance(content, list) and "tool_result" in json.dumps(content)
    return row.get("type") == "assistant" or is_output


def _is_of_codex(row: dict[str, Any]) -> bool:
    item = row.get("payload")
    return isinstance(item, dict) and (
        item.get("type") in ("function_call_output", "custom_tool_call_output")
        or item.get("role") == "assistant"
    )


def _is_of_gemini(row: dict[str, Any]) -> bool:
    return row.get("type") != "user" or "functionResponse" in json.dumps(row)


MACHINES = {
    "claude-code": [row for row in kinds_of_rows("transcripts/claude") if _is_of_claude(row)],
    "codex": [row for row in kinds_of_rows("transcripts/codex") if _is_of_codex(row)],
    "gemini-cli": [row for row in kinds_of_rows("transcripts/gemini") if _is_of_gemini(row)],
}


@pytest.mark.spec("R-018")
@pytest.mark.parametrize("agent", AGENTS)
def test_no_spoilt_line_of_a_tool_or_an_agent_is_a_persons(agent: str) -> None:
    assert len(MACHINES[agent]) > 3

    @settings(max_examples=EXAMPLES)
    @given(st.lists(damaged(json_bytes(spoilt(MACHINES[agent]))), max_size=4))
    def run(lines: list[bytes]) -> None:
        file = TranscriptFile(agent, "/nowhere.jsonl", "s-1")
        reader = AGENTS[agent].open_reader(file, ReaderState())
        for row in (META, TURN):  # a turn that a person began: only the lines tell whose they are
            reader.read_line(json.dumps(row).encode(), 0)
        for number, line in enumerate(lines):
            for message in reader.read_line(line, number):
                assert message.author != "person"

    run()
