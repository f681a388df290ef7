"""Find and end the processes that belong to one test home, by their ids."""

import contextlib
import os
import signal
from pathlib import Path

from tests.support.polling import eventually


def processes_of(root: Path) -> dict[int, str]:
    """Process id → command line of everything that carries this home in its environment."""
    marks = (f"MASH_HOME={root}".encode(), f"CODEX_HOME={root}".encode())
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if any(mark in environment for mark in marks) and command:
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def daemons_of(root: Path) -> list[int]:
    """The ids of the daemons that serve this home."""
    return [pid for pid, command in processes_of(root).items() if "mash_plugin.daemon" in command]


def end_processes_of(root: Path) -> None:
    """Kill what a test left behind (daemons, tool servers, clients) and wait for its end."""

    def none_left() -> bool:
        left = processes_of(root)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    eventually(none_left, f"processes of {root} live on", timeout_s=30)
