"""What both hosts share when the plugin is installed: its names, places and findings."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mash_plugin.paths import passwd_home, work_tree_of

PLUGIN = "mash"
MARKETPLACE = "mash"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"


@dataclass(frozen=True, slots=True)
class Place:
    """One host as it is found on this machine."""

    agent: str
    title: str
    client: str | None
    """The host's own command, or None when it is not on PATH."""
    config: Path
    """The folder that holds its settings."""

    @property
    def command(self) -> str:
        """The host's own command, for those who act only where it was found."""
        assert self.client  # noqa: S101 - they looked
        return self.client


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
    """The absolute path of a client on PATH; none that the project one stands in could bring."""
    folders = environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(_is_own, folders)))


def _is_own(folder: str) -> bool:
    if not os.path.isabs(folder):
        return False
    try:
        project = work_tree_of(os.path.join(os.getcwd(), "any"))
    except FileNotFoundError:
        return True  # nothing stands there any more
    home = os.path.realpath(passwd_home())
    real = Path(os.path.realpath(folder))
    return project is None or Path(home).is_relative_to(project) or not real.is_relative_to(project)


def table_in(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A table of a host's settings; an empty one where there is none, or something else."""
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def sha256_of(path: Path) -> str | None:
    """The hash of a file, or None when there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def read_folder(folder: Path) -> dict[str, bytes]:
    """The files that lie there now, but for byte code, which no agent counts."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, if it is there."""
    shutil.rmtree(path, ignore_errors=True)


def remove_if_empty(*folders: Path) -> None:
    """Remove folders that hold nothing any more."""
    for folder in folders:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
