"""What is examined: one person's places, settings and store, read once and changed by nobody."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from mash_plugin import client
from mash_plugin.chats.project import Project, project_of
from mash_plugin.config import Settings
from mash_plugin.daemon.kept_settings import settings_in_force
from mash_plugin.errors import MashError, Sandboxed
from mash_plugin.paths import Paths
from mash_plugin.store.checks import StoreReport, store_report
from mash_plugin.store.looking import looking_into
from mash_plugin.store.sqlite import Connection

WAIT_S = 2.0


class Rendering(NamedTuple):
    """The plugin's folder as this version makes it."""

    interpreter: str
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Machine:
    """Everything that the checks look at."""

    paths: Paths
    environ: Mapping[str, str]
    now: int
    rendering: Callable[[], Rendering]
    """Raises MashError when the plugin's own files are incomplete."""
    other_daemon: Callable[[], str | None]
    """The name of a running daemon that is not of this version and environment."""
    record_time_s: float = 1.0
    """How long records, and again backups, are looked at; some 5,000 records a second."""

    @cached_property
    def settings(self) -> Settings:
        """The settings, with the switches of this shell."""
        return settings_in_force(self.paths, self.environ)

    @cached_property
    def served(self) -> Mapping[str, Any]:
        """What a running daemon says of itself and of this folder; empty where none answers."""
        try:
            here = {"cwd": self.project.root} if self.project else {}
            return client.call("status", here, start=False, timeout_s=WAIT_S, paths=self.paths)
        except Sandboxed:
            raise  # nothing could be told rightly from in here
        except MashError:
            return {}

    @cached_property
    def report(self) -> StoreReport:
        """The record store as it lies on disk, every page read."""
        return store_report(self.paths)

    @cached_property
    def project(self) -> Project | None:
        """The project of the folder that the command runs in."""
        try:
            return project_of(os.getcwd())
        except OSError:  # the folder is gone
            return None

    @property
    def has_store(self) -> bool:
        """Whether there are records that can be read."""
        return self.report.state in ("ok", "full", "read_only") and bool(self.report.counts)

    def reading(self, path: str) -> AbstractContextManager[Connection]:
        """A look into one of the databases, also beside a running daemon."""
        return looking_into(path)
