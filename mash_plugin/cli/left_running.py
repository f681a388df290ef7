"""What still runs from the program that was removed, and what ends it; nothing is ended here."""

import os
from collections.abc import Iterator

from mash_plugin.paths import Paths
from mash_plugin.render.text import clean

PROCESSES = "/proc"
ENDED_BY = {
    "dash": "Ctrl-C in its terminal ends it",
    "mcp": "it ends with the agent that started it, {agent}",
}
DAEMON = "mash_plugin.daemon"
"""How one is started; ours has ended by then, and any other serves a memory apart."""


def left_running(paths: Paths) -> list[str]:
    """Each process of ours that an environment started, in words; none where that is not told."""
    return [_told(pid, words) for pid, words in _started_from(paths)]


def _told(pid: int, words: list[str]) -> str:
    command = next((word for word in words if word in ENDED_BY), None)
    if command:
        how = ENDED_BY[command].format(agent=_starter_of(pid))
        return f"process {pid} (`mash {command}`): {how}"
    what = " (the daemon of another MASH_HOME)" if DAEMON in words else ""
    return f"process {pid}{what}: `kill {pid}` ends it"


def _starter_of(pid: int) -> str:
    """The process that started one, by which a person finds the terminal: name, ID and folder."""
    try:
        with open(os.path.join(PROCESSES, str(pid), "stat"), "rb") as file:
            parent = file.read().rpartition(b")")[2].split()[1].decode()
        with open(os.path.join(PROCESSES, parent, "comm"), encoding="utf-8") as file:
            name = file.read().strip()
        folder = os.readlink(os.path.join(PROCESSES, parent, "cwd"))
    except (OSError, IndexError):
        return "which is gone or another user's"
    return clean(f"{name} (process {parent}) in {folder}")


def _started_from(paths: Paths) -> Iterator[tuple[int, list[str]]]:
    """Its ID, and what it was started with."""
    programs = tuple(os.path.join(paths.data, name, "") for name in ("envs", "current"))
    for name in sorted(filter(str.isdigit, _entries()), key=int):
        words = _words_of(name)
        if int(name) != os.getpid() and words[0].startswith(programs):
            yield int(name), words[1:]


def _entries() -> list[str]:
    try:
        return os.listdir(PROCESSES)
    except OSError:
        return []


def _words_of(process: str) -> list[str]:
    """How it was started; no words for a process of another user, or one that has ended."""
    folder = os.path.join(PROCESSES, process)
    try:
        if os.stat(folder).st_uid != os.getuid():
            return [""]
        with open(os.path.join(folder, "cmdline"), "rb") as file:
            return os.fsdecode(file.read()).split("\0")
    except OSError:
        return [""]
