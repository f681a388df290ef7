"""The hosts that the plugin can be installed into, each by its own module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mash_plugin.agents.claude import setup as claude
from mash_plugin.agents.codex import setup as codex
from mash_plugin.agents.listing import Listed
from mash_plugin.agents.plugin import Before, HookTrust, Installed, Place


class Host(Protocol):
    """What `mash init`, `doctor` and `uninstall` ask of a host."""

    TITLE: str
    ROOT_VARIABLE: str
    HOME_FOLDER: str
    ROOTS_KEY: str
    """Its key in the `[chats.roots]` table of config.toml."""
    HOOKS_FILE: str
    """Which file of the plugin's folder holds its hooks."""
    SETTINGS: str
    """The settings of the person that an installation adds to, below `Place.config`."""
    REHEARSED: tuple[str, ...]
    """What the host's commands must find to install as they would here."""
    REVIEW: str
    """What to tell the person when hooks are new or changed; empty when nothing is needed."""
    REVIEW_COMMAND: str
    """How hooks that do not run are made to run."""
    UPDATE: str
    """The host's own command that brings its newest version."""

    def find_place(self, environ: Mapping[str, str]) -> Place: ...
    def inspect(
        self, place: Place, marketplace: Path, rendered: Mapping[str, bytes]
    ) -> Installed: ...
    def note_before(self, place: Place) -> Before: ...
    def install(self, place: Place, marketplace: Path, environ: Mapping[str, str]) -> None: ...
    def remove(self, place: Place, before: Before | None, environ: Mapping[str, str]) -> bool: ...
    def may_save(self, place: Place) -> bool: ...
    def allow_saving(self, place: Place) -> None: ...
    def plugin_folder(self, place: Place, marketplace: Path) -> Path | None: ...
    def hook_trust(self, place: Place, environ: Mapping[str, str]) -> list[HookTrust]: ...
    def list_plugins(self, place: Place, environ: Mapping[str, str]) -> list[Listed]: ...
    def remove_command(self, plugin_id: str) -> str: ...


HOSTS: tuple[Host, ...] = (claude, codex)
