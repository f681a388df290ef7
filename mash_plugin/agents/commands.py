"""Run the hosts' own commands: quietly, in bounded time, and nothing of them is left behind."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from mash_plugin.errors import Internal, plain_reason

TIMEOUT_S = 10.0
CHANGE_TIMEOUT_S = 120.0
SAID_CHARACTERS = 400
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
"""Without these Claude Code's plugin commands wait for its telemetry, long where it is cut off."""


def ask(command: list[str], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> str:
    """What one of the host's commands prints; raises Internal when it fails or takes too long."""
    try:
        done = run_bounded(command, {**environ, **QUIET}, timeout_s)
    except subprocess.TimeoutExpired:
        raise Internal(f"`{shown(command)}` gave no answer in {timeout_s:g} s.") from None
    except OSError as error:
        raise Internal(f"`{shown(command)}` did not run ({plain_reason(error)}).") from None
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode("utf-8", "replace")
        said = " ".join(output.partition("Stack backtrace:")[0].split())  # Codex adds one
        told = said[-SAID_CHARACTERS:] or f"exit code {done.returncode}, without a word"
        raise Internal(f"`{shown(command)}` failed: {told}.")
    return done.stdout.decode("utf-8", "replace")


def run_client(command: list[str], environ: Mapping[str, str]) -> str:
    """Run a command that changes the host's settings; raises Internal with what to do then."""
    try:
        return ask(command, environ, CHANGE_TIMEOUT_S)
    except Internal as error:
        advice = "Correct that, or run it yourself; then `mash init` again."
        raise Internal(f"{error.message} {advice}") from None


def run_bounded(
    command: list[str], environ: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, or end it with all that it started; raises TimeoutExpired.

    Hosts come as a script that starts the program: were only the script ended, the program
    would hold the pipes, and reading them would never end.
    """
    with subprocess.Popen(
        command,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        finally:
            end_group(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def end_group(leader: int) -> None:
    """End a process that leads its own group, and what is left of the group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def shown(command: list[str]) -> str:
    """The command as a person would type it."""
    return " ".join([os.path.basename(command[0]), *command[1:]])
