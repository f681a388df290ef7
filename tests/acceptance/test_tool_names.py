"""The tools are called in the agents what the notes call them; asked about only without a rule."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.agents import HOOKED
from mash_plugin.wording import TOOLS
from tests.cli.test_chats_commands import SESSION, write_chat
from tests.support import fake_anthropic, fake_openai
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.homes import Home
from tests.support.installed import Installed
from tests.support.kept_home import KeptHome
from tests.support.model_server import Body
from tests.support.saved import SHOP, WORDS, record
from tests.support.saving import CLAUDE_RECORD, FIND_RECORD, LOAD_RECORD

pytestmark = pytest.mark.slow
BYPASS = "--dangerously-bypass-hook-trust"
PREFERENCE = "Invoices are always rendered with Typst."
TASK = "From now on always run the linter before committing."
"""Typed by a person it would bring a note."""
FORGET = {
    "operation_id": "o-1",
    "change": {"action": "forget", "expected": {"id": "none", "revision": 1}},
}


@pytest.fixture(scope="module")
def unasked_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KeptHome, Installed]]:
    anthropic, openai = FakeAnthropic(), FakeOpenAI()

    def prepare(home: Home) -> None:
        done = home.mash("init", "--yes", "--no-index", "--allow-saving")
        assert done.code == 0, done

    kept = KeptHome(tmp_path_factory.mktemp("unasked"), prepare, anthropic.url, openai.url)
    yield kept, Installed(kept.home, anthropic, openai, "", {})
    kept.end()
    anthropic.stop()
    openai.stop()


@pytest.fixture
def unasked(unasked_once: tuple[KeptHome, Installed]) -> Installed:
    """A person who took the rule when it was offered."""
    kept, person = unasked_once
    kept.bring_back()
    for model in (person.anthropic, person.openai):
        model.rules.clear()
        model.bodies.clear()
    return person


def test_claude_code_lists_every_tool_under_the_name_of_the_notes_and_loads_none(
    person: Installed, clone: Path
) -> None:
    person.anthropic.when("Look for the tool", LOAD_RECORD, {"text": "seen"})
    assert person.home.claude_print("Look for the tool", clone).out.strip() == "seen"
    prefix = HOOKED["claude-code"].TOOL_PREFIX
    first, last = person.anthropic.bodies[0], person.anthropic.bodies[-1]
    listed = re.findall(rf"^{prefix}(\w+)$", fake_anthropic.context_of(last), re.MULTILINE)
    loaded = [tool["name"].removeprefix(prefix) for tool in last["tools"]]
    # A server that was late is listed without what was loaded meanwhile.
    assert {*listed, *loaded} >= set(TOOLS)
    assert set(listed) <= set(TOOLS)
    assert set(loaded) & set(TOOLS) == {"record"}
    assert [tool["name"] for tool in first["tools"] if "mash" in tool["name"]] == []
    assert f"`{prefix}record`" in fake_anthropic.context_of(first)


def test_codex_finds_the_tools_in_the_namespace_of_the_notes(
    person: Installed, clone: Path
) -> None:
    person.openai.when("Look for the tool", FIND_RECORD, {"text": "seen"})
    assert person.home.codex_exec("Look for the tool", clone).out.strip() == "seen"
    body = person.openai.bodies[-1]
    found = [item for item in body["input"] if item["type"] == "tool_search_output"][-1]
    (space,) = found["tools"]
    prefix = HOOKED["codex"].TOOL_PREFIX
    assert space["name"] + "__" == prefix
    assert {tool["name"] for tool in space["tools"]} <= set(TOOLS)
    assert "record" in {tool["name"] for tool in space["tools"]}
    assert f"`{prefix}record`" in fake_openai.context_of(body)


def test_with_the_rule_neither_agent_asks_before_a_save(unasked: Installed) -> None:
    (clone,) = unasked.home.repository("shop")
    step = {"tool": CLAUDE_RECORD, "input": FORGET}
    unasked.anthropic.when("Try it", LOAD_RECORD, step, {"text": "tried"})
    done = unasked.home.run("claude", "-p", cwd=clone, stdin="Try it")
    assert done.out.strip() == "tried", done
    assert "There is no record" in unasked.receipt()
    call = {"call": "record", "namespace": "mcp__mash", "args": FORGET}
    unasked.openai.when("Try it", FIND_RECORD, call, {"text": "tried"})
    assert unasked.home.codex_exec("Try it", clone, BYPASS).out.strip() == "tried"
    results = fake_openai.tool_results(unasked.openai.bodies[-1])
    assert "There is no record" in results[-1]


def preferred(home: Home, clone: Path) -> None:
    """An established preference of the project, settled in an earlier chat."""
    write_chat(home, clone, WORDS)
    home.mash("index")
    details = {"kind": "preference", "state": "active"}
    change = {
        "action": "create",
        "scope": SHOP,
        "body": {"statement": PREFERENCE, "review": "established", "details": details},
        "evidence": [{"session_id": SESSION, "purpose": "endorsement", "quote": WORDS}],
    }
    record(home, change)


def wait_for_subagent(body: Body) -> dict[str, Any]:
    """A step of Codex's model: without it the run may end before the subagent has begun."""
    spawned = json.loads(json.loads(fake_openai.tool_results(body)[-1]))
    args = {"targets": [spawned["agent_id"]]}
    return {"call": "wait_agent", "namespace": "multi_agent_v1", "args": args}


@pytest.mark.parametrize("is_on", [False, True])
def test_a_subagent_is_told_the_preferences_of_the_project_where_that_is_on_and_no_note(
    unasked: Installed, is_on: bool
) -> None:
    home = unasked.home
    (clone,) = home.repository("shop")
    preferred(home, clone)
    with (home.mash_home / "config.toml").open("a") as config:
        config.write(f"\n[recall]\nsubagents = {json.dumps(is_on)}\n")
    task = {"description": "Look", "prompt": TASK}
    delegate = {"tool": "Agent", "input": {**task, "subagent_type": "general-purpose"}}
    unasked.anthropic.when(TASK, {"text": "looked"})
    unasked.anthropic.when("Delegate this", delegate, {"text": "delegated"})
    home.claude_print("Delegate this", clone)
    context = [
        fake_anthropic.context_of(body)
        for body in unasked.anthropic.bodies
        if "Delegate this" not in json.dumps(body["messages"])
    ]
    told = [text.count(PREFERENCE) for text in context if TASK in text]
    assert told == [int(is_on)]
    spawn = {"call": "spawn_agent", "namespace": "multi_agent_v1"}
    spawn["args"] = {"message": TASK}
    unasked.openai.when(TASK, {"text": "looked"})
    unasked.openai.when("Delegate this", spawn, wait_for_subagent, {"text": "delegated"})
    home.codex_exec("Delegate this", clone, BYPASS)
    context = [fake_openai.context_of(body) for body in unasked.openai.bodies]
    told = [text.count(PREFERENCE) for text in context if TASK in text]
    assert told == [int(is_on)]
    requests = json.dumps([*unasked.anthropic.bodies, *unasked.openai.bodies])
    assert "reads like a lasting" not in requests
