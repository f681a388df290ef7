"""Hooks and tools work by themselves: no agent is started, no network is needed."""

import json
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.support.daemons import NAMES, Place, run_hook

pytestmark = pytest.mark.slow

EVENTS = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "file-read": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": "/nowhere/src/ledger.py"},
        "tool_use_id": "toolu_1",
    },
    "prompt-submit": {
        "hook_event_name": "UserPromptSubmit",
        "prompt": "From now on always run the linter before committing.",
    },
    "reminder-timer": {"hook_event_name": "Stop", "stop_hook_active": False},
}


@pytest.fixture
def offline() -> list[str]:
    """The start of a command that runs without any network, where the kernel allows it."""
    command = ["unshare", "--map-root-user", "--net"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return []
    return command if allowed.returncode == 0 else []


@pytest.mark.spec("R-129")
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_hooks_start_no_agent_and_need_no_network(
    place: Place, offline: list[str], agent: str, tmp_path: Path
) -> None:
    marker = tmp_path / "an agent was started"
    fakes = tmp_path / "bin"
    fakes.mkdir()
    for name in ("claude", "codex", "npm", "npx", "node", "curl", "wget", "pip", "uv"):
        (fakes / name).write_text(f"#!/bin/sh\necho {name} >>'{marker}'\n")
        (fakes / name).chmod(0o755)
    environment = place.environment | {"PATH": f"{fakes}:{place.environment['PATH']}"}
    session, printed = str(uuid.uuid4()), {}
    for name in ("session-start", *NAMES):  # the first one finds no daemon and starts it
        common = {"session_id": session, "transcript_path": None, "cwd": str(tmp_path)}
        body = json.dumps(common | EVENTS[name]).encode()
        ran = run_hook([*offline, *place.hook_command(name, agent)], environment, body)
        assert ran.is_harmless()
        printed[name] = ran.out
    assert place.daemons()
    assert b"record`" in printed["prompt-submit"]
    assert not printed["reminder-timer"]
    assert not marker.exists()
