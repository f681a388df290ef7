"""What the hosts say of themselves: their version and their plugins, never waited for too long."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from mash_plugin.agents.plugin import QUIET
from mash_plugin.errors import Internal

TIMEOUT_S = 10.0
TRIED = {"claude-code": "2.1.332", "codex": "0.171.0"}
"""The version of each host that the plugin was tried with; the only place that says so."""
Version = tuple[int, ...]


class Listed(NamedTuple):
    """One plugin in a host's own list."""

    plugin_id: str
    is_enabled: bool
    source: str
    """The folder that the host reads it from or copied it from; empty where it does not say."""


def ask(command: list[str], environ: Mapping[str, str], timeout_s: float = TIMEOUT_S) -> str:
    """What one of the host's commands prints; raises Internal when it fails or takes too long."""
    shown = " ".join([os.path.basename(command[0]), *command[1:]])
    try:
        done = run_bounded(command, {**environ, **QUIET}, timeout_s)
    except subprocess.TimeoutExpired:
        raise Internal(f"`{shown}` gave no answer in {timeout_s:g} s.") from None
    except OSError as error:
        raise Internal(f"`{shown}` did not run ({error}).") from None
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
        raise Internal(f"`{shown}` failed: {said[-300:]}.")
    return done.stdout.decode("utf-8", "replace")


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


def version_of(client: str, environ: Mapping[str, str]) -> Version:
    """The host's version; raises Internal where it tells none."""
    said = ask([client, "--version"], environ)
    found = re.search(r"\d+(?:\.\d+)+", said)
    if found is None:
        raise Internal(f"`{os.path.basename(client)} --version` names no version: {said[:80]!r}.")
    return version_from(found[0])


def version_from(text: str) -> Version:
    """`2.1.332` as numbers that compare."""
    return tuple(int(part) for part in text.split("."))
