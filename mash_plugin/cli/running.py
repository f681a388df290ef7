"""Whether the daemon that runs is of this version and environment, and how it becomes so."""

import os
import subprocess
from dataclasses import dataclass
from importlib.metadata import version

from mash_plugin import client, connecting, starting, wire
from mash_plugin.errors import MashError, Sandboxed
from mash_plugin.paths import Paths

WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Running:
    """The daemon that holds the socket now."""

    pid: int | None
    build: str | None
    """Its version, or None when it does not answer this one."""
    program: str | None
    """The interpreter that it was started with, where the system tells."""

    @property
    def is_this(self) -> bool:
        """Whether it runs the very code that this command runs."""
        return self.build == version("mash-plugin") and self.program in (None, this_program())

    @property
    def name(self) -> str:
        build = f"version {self.build}" if self.build else "another version"
        return f"{build} from {self.program}" if self.program else build


def find_running(paths: Paths) -> Running | None:
    """The running daemon, None where there is none. Raises Sandboxed where that is not told."""
    connection = connecting.connect(paths, WAIT_S)
    if connection is None:
        return None
    with connection:
        pid = wire.peer_pid(connection)
    try:
        build = str(client.call("ping", {}, start=False, timeout_s=WAIT_S, paths=paths)["build"])
    except Sandboxed:
        raise
    except MashError:
        build = None
    return Running(pid, build, _program_of(pid) if pid else None)


def this_program() -> str:
    """The interpreter that a daemon started from here gets."""
    return starting.daemon_command()[0]


def _program_of(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read().partition(b"\0")[0]) or None
    except OSError:
        pass
    try:
        done = subprocess.run(
            ["/bin/ps", "-o", "args=", "-p", str(pid)], capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout).partition(" -I -m mash_plugin.daemon")[0].strip() or None
