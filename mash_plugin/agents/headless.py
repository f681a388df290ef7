"""Run a host without a person at it, to review one chat.

A reviewer keeps the person's sign-in and choice of model, and nothing else of their settings:
no hooks, plugins, tools or servers but the one that saves its result.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from mash_plugin.agents.claude import headless as claude
from mash_plugin.agents.codex import headless as codex
from mash_plugin.agents.plugin import Place
from mash_plugin.agents.reviewing import Ending, Start, Task


class Reviewer(Protocol):
    """What a backfill asks of a host."""

    NAME: str
    TITLE: str
    SIGN_IN: str
    """How the person signs in."""

    def find_place(self, environ: Mapping[str, str]) -> Place: ...
    def is_signed_in(self, place: Place, folder: Path, environ: Mapping[str, str]) -> bool: ...
    def prepare(self, place: Place, task: Task, environ: Mapping[str, str]) -> Start: ...
    def read_ending(self, code: int, out: str, err: str) -> Ending: ...


REVIEWERS: dict[str, Reviewer] = {claude.NAME: claude, codex.NAME: codex}
