"""The agents by name, and where their transcripts lie. Cheap to import."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mash_plugin.agents import claude, codex, gemini
from mash_plugin.config import Settings
from mash_plugin.paths import may_be_brought, passwd_home

if TYPE_CHECKING:  # a hook's first answer needs no transcripts
    from mash_plugin.agents.events import Agent, HookedAgent

HOOKED: "dict[str, HookedAgent]" = {claude.NAME: claude, codex.NAME: codex}
"""The agents that the plugin is installed into; they also review earlier chats."""
AGENTS: "dict[str, Agent]" = {**HOOKED, gemini.NAME: gemini}
"""All whose chats are read."""


def agent_named(name: str) -> "Agent | None":
    """The agent of that name, or None."""
    return AGENTS.get(name)


def transcript_roots(settings: Settings, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every (agent, folder) whose transcripts may be read, without repeats.

    HOME counts in tests alone: the daemon's environment is that of whichever terminal happened to
    start it. A client's own variable does not count where it names a folder that a repository
    could bring: its settings can set it, and words of the person there would be anybody's.
    """
    home = passwd_home()
    if environ.get("MASH_TESTING") == "1":
        home = environ.get("HOME") or home
    roots: list[tuple[str, str]] = []
    for name, agent in AGENTS.items():
        own = own_root(agent, environ, home)
        if environ.get(agent.ROOT_VARIABLE) and may_be_brought(own):
            own = os.path.join(home, agent.HOME_FOLDER)
        for root in _absolute((own, *settings.chat_roots(agent.ROOTS_KEY)), home):
            if (name, root) not in roots:
                roots.append((name, root))
    return roots


def own_root(agent: "Agent", environ: Mapping[str, str], home: str) -> str:
    """The folder in which the client itself keeps its transcripts, as this environment tells."""
    named = environ.get(agent.ROOT_VARIABLE)
    if not named:
        return os.path.join(home, agent.HOME_FOLDER)
    return os.path.join(named, agent.BELOW_VARIABLE) if agent.BELOW_VARIABLE else named


def _absolute(roots: tuple[str, ...], home: str) -> Iterator[str]:
    for root in roots:
        path = os.path.join(home, root[2:]) if root.startswith("~/") else root
        if os.path.isabs(path):
            yield os.path.realpath(path)
