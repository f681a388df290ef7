"""One agent as one process group: it gets its time, and ends as a whole."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mash_plugin.agents.reviewing import Start
from mash_plugin.protocol.review import GROUP_FILE
from mash_plugin.store.failpoint import failpoint

GRACE_S = 2.0
OUTPUT_LIMIT = 4 << 20


class Ended(NamedTuple):
    """How a process ended, and what it printed."""

    code: int
    out: str
    err: str
    is_late: bool
    """It was ended because its time was over."""


def run_group(start: Start, folder: Path, empty: Path, limit_s: float) -> Ended:
    """Run it in an empty folder; whatever happens, nothing of its group is left behind.

    Output goes to files: a process that left the group could hold a pipe open for ever.
    """
    prompt = folder / "prompt"
    prompt.touch(0o600)
    prompt.write_bytes(start.stdin)
    with (
        prompt.open("rb") as stdin,
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
    ):
        process = subprocess.Popen(
            start.command,
            env=start.environment,
            cwd=empty,
            stdin=stdin,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        is_late = False
        try:
            failpoint("review_started")
            (folder / GROUP_FILE).write_text(str(process.pid))
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            end_group(process)
    return Ended(process.returncode, _tail(folder / "out"), _tail(folder / "err"), is_late)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to end, then make it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - OUTPUT_LIMIT))
        return file.read().decode("utf-8", "replace")
