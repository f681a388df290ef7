"""One agent as one process group: it gets its time, and ends as a whole."""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

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

    The streams are files without a name: one that left the group could hold a pipe open for
    ever, and what was said in a chat does not stay on the disk when this process is killed.
    """
    with _nameless(folder) as stdin, _nameless(folder) as out, _nameless(folder) as err:
        stdin.write(start.stdin)
        stdin.seek(0)
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
        return Ended(process.returncode, _tail(out), _tail(err), is_late)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask the group to end, then make it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _nameless(folder: Path) -> IO[bytes]:
    return tempfile.TemporaryFile(dir=folder, buffering=0)


def _tail(file: IO[bytes]) -> str:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - OUTPUT_LIMIT))
    return file.read().decode("utf-8", "replace")
