"""Whether a hook really answers: its installed command, run as the agent runs it."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from mash_plugin.agents.payload import CHECK_SESSION, CHECK_TEXT
from mash_plugin.cli.wizard.found import Found
from mash_plugin.errors import plain_reason

EVENT = "SessionStart"
TRIES = 3
"""A hook that meets a busy machine keeps silent rather than let the agent wait."""
TIMEOUT_S = 10.0


def check_hook(one: Found, marketplace: Path) -> str | None:
    """Why no hook of this agent answers; None when one does."""
    folder = one.host.plugin_folder(one.place, marketplace)
    if folder is None or not folder.is_dir():
        return "the plugin's folder is not where it was installed"
    try:
        command = _command(folder / one.host.HOOKS_FILE)
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{folder / one.host.HOOKS_FILE} cannot be read ({plain_reason(error)})"
    problem = None
    for _ in range(TRIES):
        problem = _run(command, folder)
        if problem is None:
            return None
    return problem


def _command(file: Path) -> str:
    return str(json.loads(file.read_bytes())["hooks"][EVENT][0]["hooks"][0]["command"])


def _run(command: str, folder: Path) -> str | None:
    with tempfile.TemporaryDirectory() as project:
        payload = {
            "session_id": CHECK_SESSION,
            "hook_event_name": EVENT,
            "source": "startup",
            "cwd": project,
        }
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                cwd=project,
                env={**os.environ, "CLAUDE_PLUGIN_ROOT": str(folder)},
                input=json.dumps(payload).encode(),
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"`{command}` did not run ({plain_reason(error)})"
    if done.returncode != 0:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-200:]
        return f"`{command}` ended with {done.returncode}: {said or 'no message'}"
    return _fault_of(done.stdout)


def _fault_of(output: bytes) -> str | None:
    if not output:
        return "the hook ran, but the daemon gave it no answer in time"
    try:
        told = json.loads(output)["hookSpecificOutput"]
        is_ours = told == {"hookEventName": EVENT, "additionalContext": CHECK_TEXT}
    except (ValueError, LookupError, TypeError):
        is_ours = False
    return None if is_ours else f"the hook printed something else: {output[:80]!r}"
