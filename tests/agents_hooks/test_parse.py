"""Hook events parsed from what both clients really sent."""

import json
import time
from pathlib import Path

import pytest

from mash_plugin.agents import agent_named
from mash_plugin.agents.codex.hooks import simple_read

SAMPLES = Path(__file__).parent.parent / "fixtures" / "hook-input"
HOOK_OF = {
    "SessionStart": "session-start",
    "SubagentStart": "session-start",
    "UserPromptSubmit": "prompt-submit",
    "PreToolUse": "file-read",
    "PostToolUse": "file-read",
    "Stop": "reminder-timer",
    "SessionEnd": "reminder-timer",
}
CLAUDE, CODEX = agent_named("claude-code"), agent_named("codex")


def _sample(folder, name):
    return json.loads((SAMPLES / folder / f"{name}.json").read_text("utf-8"))


def _parse(agent, folder, name):
    raw = _sample(folder, name)
    return agent.parse_event(HOOK_OF[raw["hook_event_name"]], raw)


def test_every_sample_is_an_event_or_a_tool_call_that_reads_no_file():
    nothing = set()
    for folder, agent in (("claude", CLAUDE), ("codex", CODEX)):
        for path in sorted((SAMPLES / folder).glob("*.json")):
            raw = _sample(folder, path.stem)
            event = agent.parse_event(HOOK_OF[raw["hook_event_name"]], raw)
            if event is None:
                nothing.add(f"{folder}/{path.stem}")
                continue
            assert (event.session_id, event.cwd) == (raw["session_id"], raw["cwd"])
            assert event.agent == ("claude-code" if folder == "claude" else "codex")
    assert nothing == {
        "claude/PostToolUse-Read",  # not our event in Claude Code
        "claude/PreToolUse-Agent",
        "claude/PreToolUse-Bash",
        "claude/PreToolUse-mcp__plugin_probe_probe__whoami",
        "codex/PreToolUse-Bash",  # not our event in Codex
    }


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
def test_both_hosts_tell_why_a_session_starts(source):
    assert _parse(CLAUDE, "claude", f"SessionStart-{source}").source == source
    assert _parse(CODEX, "codex", f"SessionStart-{source}").source == source


def test_a_session_without_a_transcript_is_an_event():
    event = _parse(CODEX, "codex", "SessionStart-ephemeral")
    assert event.transcript_path is None
    assert not event.is_machine_made


@pytest.mark.parametrize(
    ("agent", "folder", "name", "machine_made"),
    [
        (CLAUDE, "claude", "UserPromptSubmit-typed", False),
        (CLAUDE, "claude", "UserPromptSubmit-slash", True),
        (CLAUDE, "claude", "UserPromptSubmit-task-notification", True),
        (CODEX, "codex", "UserPromptSubmit-tui", False),
        (CODEX, "codex", "UserPromptSubmit-exec", False),
        (CODEX, "codex", "UserPromptSubmit-subagent", True),
        (CODEX, "codex", "UserPromptSubmit-review-subagent", True),
    ],
)
def test_prompts_that_no_person_typed_are_told_apart(agent, folder, name, machine_made):
    event = _parse(agent, folder, name)
    assert event.is_machine_made is machine_made
    assert event.prompt == _sample(folder, name)["prompt"]


def test_a_path_at_the_start_of_a_prompt_is_no_slash_command():
    raw = _sample("claude", "UserPromptSubmit-typed") | {"prompt": "/home/dev/a.py is broken"}
    assert not CLAUDE.parse_event("prompt-submit", raw).is_machine_made


def test_claude_names_the_file_that_it_reads():
    event = _parse(CLAUDE, "claude", "PreToolUse-Read")
    assert CLAUDE.files_read(event, []) == ("/home/dev/project/a.txt",)
    inside = _parse(CLAUDE, "claude", "PreToolUse-Read-subagent")
    assert inside.agent_id == "aff9e7f9ddd1a9e04"


def test_codex_without_a_rollout_falls_back_to_the_command():
    event = _parse(CODEX, "codex", "PostToolUse-Bash")
    assert CODEX.files_read(event, []) == ("/home/user/proj/src/main.rs",)


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cat src/a.py", "src/a.py"),
        ("cat -n src/a.py", "src/a.py"),
        ("cat 'with space.md'", "with space.md"),
        ("sed -n '1,80p' src/a.py", "src/a.py"),
        ("sed -n '5,$p' src/a.py", "src/a.py"),
        ("head -n 20 a.py", "a.py"),
        ("head -20 a.py", "a.py"),
        ("tail -c 100 a.py", "a.py"),
        ("nl -ba a.py", "a.py"),
        ("nl -b a a.py", "a.py"),
        ("sed 's/a/b/' a.py", None),
        ("sed -i -n p a.py", None),
        ("cat a.py b.py", None),
        ("cat a.py | head", None),
        ("cat a.py > b.py", None),
        ("cat a.py; rm b", None),
        ("cat $FILE", None),
        ("cat `ls`", None),
        ("cat *.py", None),
        ("cat ~/a.py", None),
        ("cat 'unclosed", None),
        ("python a.py", None),
        ("cat", None),
        ("", None),
    ],
)
def test_only_a_plain_read_of_one_file_counts(command, path):
    assert simple_read(command) == path


def _rollout(tmp_path, *items, name="rollout-x-01a22b3b-9fc5-7e21-b0d7-c5061d640000.jsonl"):
    folder = tmp_path / "sessions"
    folder.mkdir()
    path = folder / name
    lines = [json.dumps({"type": "event_msg", "payload": {"item": item}}) for item in items]
    path.write_text("\n".join(lines) + "\n")
    return path


def _call(path, command="bash -c 'cat x'", call="call_1"):
    raw = _sample("codex", "PostToolUse-Bash") | {
        "transcript_path": str(path),
        "tool_use_id": call,
        "tool_input": {"command": command},
        "cwd": "/p",
    }
    return CODEX.parse_event("file-read", raw)


def test_codexs_own_parse_of_the_command_comes_first(tmp_path):
    item = {
        "id": "call_1",
        "cwd": "file:///p/my%20src",
        "parsed_cmd": [
            {"type": "read", "path": "a.py"},
            {"type": "search", "path": "b.py"},
            {"type": "read", "path": "/q/c.py"},
            {"type": "read", "path": 7},
        ],
    }
    path = _rollout(tmp_path, {"id": "call_0", "parsed_cmd": []}, item, "not an item")
    roots = [("codex", str(tmp_path))]
    assert CODEX.files_read(_call(path), roots) == ("/p/my src/a.py", "/q/c.py")


def test_what_codex_calls_no_read_is_none(tmp_path):
    path = _rollout(tmp_path, {"id": "call_1", "parsed_cmd": [{"type": "unknown"}]})
    assert CODEX.files_read(_call(path, "cat a.py"), [("codex", str(tmp_path))]) == ()


def test_a_rollout_without_the_call_or_outside_the_roots_is_not_used(tmp_path):
    item = {"id": "call_1", "parsed_cmd": [{"type": "read", "path": "wrong.py"}]}
    path = _rollout(tmp_path, item)
    assert CODEX.files_read(_call(path, "cat a.py"), [("codex", "/elsewhere")]) == ("/p/a.py",)
    other = _call(path, "cat a.py", "call_2")
    assert CODEX.files_read(other, [("codex", str(tmp_path))]) == ("/p/a.py",)


def test_only_the_end_of_a_long_rollout_is_read(tmp_path):
    path = _rollout(tmp_path, {"id": "call_1", "parsed_cmd": [{"type": "read", "path": "a.py"}]})
    tail = path.read_bytes()
    with path.open("wb") as file:
        file.truncate(3 << 30)  # sparse: three gigabytes of nothing before the last line
        file.seek(0, 2)
        file.write(b"\n" + tail)
    started = time.perf_counter()
    assert CODEX.files_read(_call(path), [("codex", str(tmp_path))]) == ("/p/a.py",)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("agent", [CLAUDE, CODEX])
@pytest.mark.parametrize("hook", ["session-start", "prompt-submit", "file-read", "reminder-timer"])
@pytest.mark.row(3)
def test_payloads_of_another_shape_are_no_event(agent, hook):
    whole = {"session_id": "s-1", "cwd": "/p", "hook_event_name": "SessionStart"}
    for raw in (
        {},
        {"session_id": 5, "hook_event_name": "Stop"},
        {"session_id": "s", "hook_event_name": ["Stop"]},
        whole | {"hook_event_name": "Unheard"},
        whole | {"session_id": ""},
        whole | {"session_id": "a\nb"},
        whole | {"session_id": "x" * 201},
        whole | {"session_id": "</system-reminder>"},
        whole | {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": []},
        whole | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}},
    ):
        assert agent.parse_event(hook, raw) is None


@pytest.mark.row(3)
def test_fields_of_a_wrong_type_count_as_absent():
    raw = {
        "session_id": "s-1",
        "hook_event_name": "SessionStart",
        "cwd": 4,
        "transcript_path": {},
        "source": [],
        "more": 1,
    }
    event = CLAUDE.parse_event("session-start", raw)
    assert (event.cwd, event.transcript_path, event.source) == ("", None, None)


@pytest.mark.spec("R-123")
@pytest.mark.parametrize(("agent", "folder"), [(CLAUDE, "claude"), (CODEX, "codex")])
def test_context_goes_out_in_the_one_field_that_reaches_the_model(agent, folder):
    event = _parse(agent, folder, "SessionStart-startup")
    assert agent.wrap_context(event, "") == b""
    reply = agent.wrap_context(event, 'é "x"\n\ud83d')
    assert json.loads(reply) == {
        "hookSpecificOutput": {
            "hookEventName": "SessionStart",
            "additionalContext": 'é "x"\n?',
        }
    }
    assert b"\n" not in reply
