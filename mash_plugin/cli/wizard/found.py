"""What `mash init` finds on this machine: the agents, and the chats that they have kept."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mash_plugin.agents import AGENTS, agent_named, transcript_roots
from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import Installed, Place
from mash_plugin.cli.pins import unseen_roots
from mash_plugin.cli.progress import size_words
from mash_plugin.config import read_settings
from mash_plugin.errors import plain_reason
from mash_plugin.paths import Paths
from mash_plugin.wording import counted


@dataclass(frozen=True, slots=True)
class Found:
    """A host on this machine and what its settings say."""

    host: Host
    place: Place
    installed: Installed

    @property
    def title(self) -> str:
        return self.host.TITLE

    @property
    def is_due(self) -> bool:
        return self.installed.state in ("absent", "outdated")

    @property
    def settings_file(self) -> Path:
        return self.place.config / self.host.SETTINGS


@dataclass(frozen=True, slots=True)
class Chats:
    """The transcripts of one agent as they lie on disk."""

    count: int = 0
    bytes: int = 0
    oldest_at: float = 0.0
    newest_at: float = 0.0

    def words(self) -> str:
        """How many, how much, how old: `312 chats, 1.2 GB, 2026-03-01 to 2026-11-30`."""
        if not self.count:
            return "no chats yet"
        days = list(dict.fromkeys(map(_day, (self.oldest_at, self.newest_at))))
        return f"{counted(self.count, 'chat')}, {size_words(self.bytes)}, {' to '.join(days)}"


def find_agents(paths: Paths, rendered: Mapping[str, bytes]) -> list[Found]:
    """Every host whose command is on PATH."""
    places = [(host, host.find_place(os.environ)) for host in HOSTS]
    return [
        Found(host, place, _inspect(paths, host, place, rendered))
        for host, place in places
        if place.client is not None
    ]


def find_chats(paths: Paths) -> dict[str, Chats]:
    """The transcripts that an index would read, by the name of the agent; no message is read."""
    roots = transcript_roots(read_settings(paths.config_file, {}), os.environ)
    names = {agent.ROOTS_KEY: name for name, agent in AGENTS.items()}
    roots += [
        (names[key], os.path.realpath(root)) for key, root in unseen_roots(os.environ).items()
    ]
    found: dict[str, set[str]] = {}
    for name, root in roots:
        found.setdefault(name, set()).add(root)
    return {name: _measured(_statuses(name, folders)) for name, folders in found.items()}


def titles_of(found: Iterable[Found]) -> str:
    """The names of these agents in one phrase."""
    return " and ".join(one.title for one in found)


def _inspect(paths: Paths, host: Host, place: Place, rendered: Mapping[str, bytes]) -> Installed:
    try:
        return host.inspect(place, Path(paths.marketplace), rendered)
    except OSError as error:
        return Installed("broken", f"{place.config} cannot be read ({plain_reason(error)}).")


def _statuses(agent: str, roots: Iterable[str]) -> Iterator[tuple[bool, os.stat_result]]:
    host = agent_named(agent)
    for root in sorted(roots):
        for file in host.find_transcripts(root) if host else ():
            try:
                yield file.is_subagent, os.stat(file.path)
            except OSError:
                continue


def _measured(statuses: Iterable[tuple[bool, os.stat_result]]) -> Chats:
    count, size, oldest, newest = 0, 0, 0.0, 0.0
    for is_subagent, status in statuses:
        count += not is_subagent
        size += status.st_size
        oldest = min(oldest or status.st_mtime, status.st_mtime)
        newest = max(newest, status.st_mtime)
    return Chats(count, size, oldest, newest)


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d}"
