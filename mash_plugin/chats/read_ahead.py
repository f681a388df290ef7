"""Let another process read transcripts while this one stores what was read."""

import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

import orjson

from mash_plugin.chats.beginning import Beginning
from mash_plugin.chats.reading_process import LENGTH_BYTES, stretch_from_json
from mash_plugin.chats.stretch import Stretch

PIPE_BYTES = 1024 * 1024
"""Room for about one stretch: it is then read in few calls."""
JOB_BYTES = 7_000
"""Longer jobs could fill their pipe while the process waits for room in the other one."""
END_S = 2.0
SILENCE_S = 60.0


class ReadingStoppedError(Exception):
    """The reading process has ended; what it had not given is still to be read."""


class ReadAhead:
    """Owns the reading process; its stretches come in the order of the jobs."""

    def __init__(self) -> None:
        command = [sys.executable, "-I", "-m", "mash_plugin.chats.reading_process"]
        environ = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=environ,
            )
        except OSError as error:
            raise ReadingStoppedError from error
        self._has_begun = False
        self._output = _pipe(self.process.stdout).fileno()
        self._poller = select.poll()
        self._poller.register(self._output, select.POLLIN)
        with suppress(OSError, AttributeError):  # macOS has no such call
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def ask(self, beginning: Beginning, roots: list[str], budget: int) -> bool:
        """Have a transcript read to its end; whether the process takes it."""
        file, at = beginning.file, beginning.at
        job = orjson.dumps(
            {
                "agent": file.agent,
                "path": file.path,
                "session": file.session_id,
                "is_subagent": file.is_subagent,
                "offset": at.offset,
                "reader": at.reader,
                "sums": at.block_sums.hex(),
                "size": beginning.status.st_size,
                "roots": roots,
                "budget": budget,
            }
        )
        if len(job) > JOB_BYTES:
            return False
        try:
            _pipe(self.process.stdin).write(job + b"\n")
            _pipe(self.process.stdin).flush()
        except OSError as error:
            raise ReadingStoppedError from error
        return True

    @property
    def has_begun(self) -> bool:
        """Whether the process has started and given something."""
        self._has_begun = self._has_begun or bool(self._poller.poll(0))
        return self._has_begun

    def next(self) -> Stretch | None:
        """The next stretch; None for a transcript that could not be opened."""
        return stretch_from_json(self._bytes(int.from_bytes(self._bytes(LENGTH_BYTES), "big")))

    def close(self) -> None:
        """End the process."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    continue
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _bytes(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            is_silent = not self._poller.poll(SILENCE_S * 1000)
            chunk = b"" if is_silent else os.read(self._output, size - len(data))
            if not chunk:
                raise ReadingStoppedError
            data += chunk
        return bytes(data)


@contextmanager
def read_ahead() -> Iterator[ReadAhead]:
    """A reading process for the time of the block."""
    ahead = ReadAhead()
    try:
        yield ahead
    finally:
        ahead.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ReadingStoppedError
    return pipe
