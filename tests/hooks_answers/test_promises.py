"""What holds for every hook answer: cheap imports, real tool names, one field."""

import re
import subprocess
import sys

import pytest

from mash_plugin.protocol import tool_schemas

HEAVY = ("pydantic", "click", "logging", "mcp", "platformdirs", "asyncio", "subprocess")
HEAVY += (
    "dataclasses",
    "inspect",
    "orjson",
    "hashlib",
    "uuid",
    "urllib.parse",
    "shlex",
    "signal",
    "socket",
)
HEAVY += ("mash_plugin.tokens", "mash_plugin.chats.transcripts", "mash_plugin.chats.search")


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_first_answer_imports_nothing_that_is_slow(desk, agent):
    desk.keep("Kept in a.py.")
    desk.chat("About a.py", "11111111-2222-4333-8444-555555555555")
    desk.node.close()
    script = f"""
import builtins, json, sys
compiled, by_python = [], compile
def noted(source, *rest, **options):
    if isinstance(source, str):
        compiled.append(source)  # bytes are a module without byte code
    return by_python(source, *rest, **options)
builtins.compile = noted
import mash_plugin.daemon.start
from mash_plugin.daemon import hooks
from mash_plugin.daemon.node import Node
from mash_plugin.paths import find_paths
hooks.BUDGET_S = 10.0
node = Node(find_paths({{"MASH_HOME": {str(desk.root / "mash")!r}}}), {desk.now}, {{}})
raw = {{"session_id": "s", "cwd": {str(desk.project)!r}, "hook_event_name": "SessionStart",
        "source": "startup"}}
text = hooks.answer(node, "session-start", {agent!r}, {{}}, json.dumps(raw).encode())
assert b"Kept in" in text and b"About a.py" in text, text
print(sorted({{"re2", *{HEAVY!r}}} & sys.modules.keys()), compiled)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    # The first quoted name in a NamedTuple loads Python's compiler: 1 ms.
    assert done.stdout == "[] []\n"


def test_no_answer_to_a_prompt_imports_what_is_slow(tmp_path):
    script = f"""
import json, sys
from mash_plugin.daemon import hooks
from mash_plugin.daemon.node import Node
from mash_plugin.paths import find_paths
node = Node(find_paths({{"MASH_HOME": {str(tmp_path / "mash")!r}}}), 0, {{}})
raw = {{"session_id": "s", "cwd": {str(tmp_path)!r}, "hook_event_name": "UserPromptSubmit",
        "prompt": "From now on use tabs."}}
assert hooks.answer(node, "prompt-submit", "codex", {{}}, json.dumps(raw).encode())
by_re2 = {{"dataclasses", "inspect"}}
print(sorted((set({HEAVY!r}) - by_re2) & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


@pytest.mark.spec("R-124")
def test_every_tool_that_the_notes_name_exists(desk):
    desk.keep("Kept in a.py.")
    desk.chat("About a.py", "old-1")
    texts = [desk.start(), desk.read(str(desk.project / "a.py"))]
    texts += [desk.prompt("From now on use tabs.")]
    named = set(re.findall(r"`(\w+)`", "\n".join(texts)))
    prefix = "mcp__plugin_mash_mash__"
    assert f"{prefix}record" in named
    assert named <= {f"{prefix}{tool['name']}" for tool in tool_schemas()}


def test_nothing_in_an_answer_asks_to_process_other_chats(desk):
    desk.chat("An old chat", "old-1")
    text = desk.start().lower()
    assert "backfill" not in text
    assert "extract" not in text
