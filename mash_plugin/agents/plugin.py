"""What both hosts share when the plugin is installed: its names, commands and findings."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mash_plugin.errors import Internal
from mash_plugin.paths import passwd_home

PLUGIN = "mash"
MARKETPLACE = "mash"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
COMMAND_TIMEOUT_S = 120
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
"""Without these Claude Code's plugin commands wait for its telemetry, long where it is cut off."""


@dataclass(frozen=True, slots=True)
class Place:
    """One host as it is found on this machine."""

    agent: str
    title: str
    client: str | None
    """The host's own command, or None when it is not on PATH."""
    config: Path
    """The folder that holds its settings."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What the host's own settings say about the plugin."""

    state: Literal["absent", "installed", "outdated", "disabled", "broken"]
    detail: str = ""
    """For `broken`: which file cannot be read, and why."""
    file: str = ""
    """For `broken`: that file."""


@dataclass(frozen=True, slots=True)
class HookTrust:
    """One hook of ours as the host lists it."""

    event: str
    status: str
    """managed, untrusted, trusted or modified."""
    is_enabled: bool


@dataclass(frozen=True, slots=True)
class Before:
    """What must be known to leave a settings file exactly as it was; never a copy of it."""

    sha256: str | None
    """None when the file did not exist."""
    absent: tuple[str, ...]
    """Tables that did not exist and go again when nothing else came into them."""


def user_home(environ: Mapping[str, str]) -> Path:
    """The home that both clients use: HOME, else the user database's."""
    return Path(environ.get("HOME") or passwd_home())


def find_command(name: str, environ: Mapping[str, str]) -> str | None:
    """The absolute path of a client on PATH."""
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    return os.path.abspath(found) if found else None


def run_client(command: list[str], environ: Mapping[str, str]) -> str:
    """Run one of the client's own commands; raise Internal with its last words when it fails."""
    shown = " ".join([os.path.basename(command[0]), *command[1:]])
    try:
        done = subprocess.run(
            command,
            env={**environ, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            # Its own session: a ^C at the terminal must not end it while it writes settings.
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Internal(
            f"`{shown}` did not run ({error}). Run it yourself, then `mash init` again."
        ) from None
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode("utf-8", "replace")
        said = " ".join(output.partition("Stack backtrace:")[0].split())[-400:]  # Codex adds one
        raise Internal(f"`{shown}` failed: {said}. Correct that, then run `mash init` again.")
    return done.stdout.decode("utf-8", "replace")


def sha256_of(path: Path) -> str | None:
    """The hash of a file, or None when there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, if it is there."""
    shutil.rmtree(path, ignore_errors=True)


def remove_if_empty(*folders: Path) -> None:
    """Remove folders that hold nothing any more."""
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
