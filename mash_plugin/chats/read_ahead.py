"""Let another process read transcripts while this one stores what was read."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import IO

import orjson

from mash_plugin.chats.reading_process import LENGTH_BYTES, stretch_from_json
from mash_plugin.chats.settle import Beginning
from mash_plugin.chats.stretch import Stretch

FRAMES_AHEAD = 2
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
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = Semaphore(FRAMES_AHEAD)
        self._is_closing = self._is_over = False
        Thread(target=self._drain, name="read-ahead", daemon=True).start()

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
            _input(self.process).write(job + b"\n")
            _input(self.process).flush()
        except OSError as error:
            raise ReadingStoppedError from error
        return True

    def next(self) -> Stretch | None:
        """The next stretch; None for a transcript that could not be opened."""
        frame = None
        if not self._is_over:
            with suppress(Empty):
                frame = self._frames.get(timeout=SILENCE_S)
        self._room.release()
        if frame is None:
            self._is_over = True
            raise ReadingStoppedError
        return stretch_from_json(frame)

    def close(self) -> None:
        """End the process."""
        self._is_closing = True
        self._room.release()
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

    def _drain(self) -> None:
        pipe = self.process.stdout
        while pipe and not self._is_closing:
            self._room.acquire()
            frame = _frame(pipe)
            self._frames.put(frame)
            if frame is None:
                return


@contextmanager
def read_ahead() -> Iterator[ReadAhead]:
    """A reading process for the time of the block."""
    ahead = ReadAhead()
    try:
        yield ahead
    finally:
        ahead.close()


def _frame(pipe: IO[bytes]) -> bytes | None:
    try:
        head = pipe.read(LENGTH_BYTES)
        size = int.from_bytes(head, "big")
        data = pipe.read(size) if len(head) == LENGTH_BYTES else b""
    except (OSError, ValueError):  # closed on our side
        return None
    return data if data and len(data) == size else None


def _input(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    if process.stdin is None:
        raise ReadingStoppedError
    return process.stdin
