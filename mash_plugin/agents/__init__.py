"""The two hosts by name, and where their transcripts lie. Cheap to import."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mash_plugin.agents import claude, codex
from mash_plugin.config import Settings
from mash_plugin.paths import may_be_brought, passwd_home

if TYPE_CHECKING:  # a hook's first answer needs no transcripts
    from mash_plugin.agents.events import Agent

AGENTS: "dict[str, Agent]" = {claude.NAME: claude, codex.NAME: codex}


def agent_named(name: str) -> "Agent | None":
    """The host of that name, or None."""
    return AGENTS.get(name)


def transcript_roots(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every (agent, folder) whose transcripts may be read, without repeats.

    The folder holds `projects/` or `sessions/`. HOME counts in tests alone: the daemon's
    environment is that of whichever terminal happened to start it. A client's own variable does
    not count where it names a folder that a repository could bring: its settings can set it, and
    words of the person in such a transcript would be anybody's.
    """
    home = passwd_home()
    if environ.get("MASH_TESTING") == "1":
        home = environ.get("HOME") or home
    chosen = {claude.NAME: settings.claude_roots, codex.NAME: settings.codex_roots}
    roots: list[tuple[str, str]] = []
    for name, agent in AGENTS.items():
        own = environ.get(agent.ROOT_VARIABLE)
        if not own or may_be_brought(own):
            own = os.path.join(home, agent.HOME_FOLDER)
        for root in _absolute((own, *chosen[name]), home):
            if (name, root) not in roots:
                roots.append((name, root))
    return roots


def count_compressed(roots: list[tuple[str, str]]) -> int:
    """How many transcripts cannot be read because the host compressed them."""
    return sum(codex.count_compressed(root) for name, root in roots if name == codex.NAME)


def _absolute(roots: tuple[str, ...], home: str) -> Iterator[str]:
    for root in roots:
        path = os.path.join(home, root[2:]) if root.startswith("~/") else root
        if os.path.isabs(path):
            yield os.path.realpath(path)
