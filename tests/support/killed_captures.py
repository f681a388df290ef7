"""Captures and drains that are killed at random moments, each judged and then gone on with."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from mash_plugin.throughline import queue, stored
from mash_plugin.throughline.artifacts import Source
from mash_plugin.throughline.capture import capture_session
from mash_plugin.throughline.database import database_path
from mash_plugin.throughline.drain import drain
from mash_plugin.throughline.settings import read_settings

AGENT, NOW = "support-bot", 1_791_046_800_000
ROW = b'{"role": "assistant", "content": "%b", "ts": "2026-10-03T16:02:00Z"}\n'
PER_DRAIN = 25
"""Captures that wait for each drain that is killed."""
MiB = 1 << 20
MEASURED = """
import atexit, sys
def told():
    with open('/proc/self/status') as file:
        print([line.split()[1] for line in file if line.startswith('VmHWM')][0], file=sys.stderr)
atexit.register(told)
"""
"""Tells the peak of memory of this program alone; a child's ru_maxrss begins with its parent's."""


def kill_captures(folder: Path, runs: int, chance: random.Random) -> Counter[str]:
    """How many kills left a capture queued, and not; raises where one was lost or halved."""
    found: Counter[str] = Counter()
    transcripts = [_transcript(folder, number) for number in range(runs)]
    for session in ("first", "second"):  # the first one also loads what it needs
        began = time.perf_counter()
        _capture(folder, session, _transcript(folder, runs))
    longest_s = 4 * (time.perf_counter() - began)
    for number, transcript in enumerate(transcripts):
        session = f"s{number}"
        was_acknowledged = _killed(
            lambda: _capture(folder, session, transcript),  # noqa: B023 - over before the next
            chance.uniform(0, longest_s),
        )
        known = stored.known_artifacts(str(folder), AGENT, session)
        assert len(known) in (0, 3), f"run {number}: {known}"
        assert known or not was_acknowledged, f"run {number}: acknowledged and lost"
        found[f"a capture {'queued' if known else 'not queued'}"] += 1
    for number, transcript in enumerate(transcripts):
        _capture(folder, f"s{number}", transcript)
    _drain(folder)
    _check(folder, runs + 2)
    return found


def kill_drains(folder: Path, runs: int, chance: random.Random) -> Counter[str]:
    """How many kills left what in the queue; raises where an artifact was lost or doubled."""
    found: Counter[str] = Counter()
    sessions, longest_s = 0, 0.0
    for number in range(runs + 2):
        for _ in range(PER_DRAIN):
            _capture(folder, f"s{sessions}", _transcript(folder, sessions))
            sessions += 1
        if number < 2:  # the first one also loads what it needs
            began = time.perf_counter()
            _drain(folder)
            longest_s = 4 * (time.perf_counter() - began)
            continue
        was_done = _killed(lambda: _drain(folder), chance.uniform(0, longest_s))
        left = len(queue.pending(str(folder), AGENT))
        assert not (was_done and left), f"run {number}: done, and {left} are queued"
        state = "everything" if left >= PER_DRAIN else "a part" if left else "nothing"
        found[f"a drain with {state} queued"] += 1
    _drain(folder)
    _check(folder, sessions)
    return found


class Endless(NamedTuple):
    """What capturing a transcript of many gigabytes took."""

    seconds: float
    peak_kib: int
    told: str


def capture_endless(workspace: Path, gigabytes: float, *, in_one_line: bool) -> Endless:
    """Capture so much through a pipe, as one line or as many."""
    program = f"{MEASURED}from mash_plugin.cli.meaning_memory import main; main()"
    with subprocess.Popen(
        [
            *(sys.executable, "-c", program, "capture-session"),
            *("--agent", AGENT, "--session-id", "endless", "--channel", "c"),
            *("--source-kind", "chat", "--transcript", "-", "--config-dir", str(workspace)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        began = time.monotonic()
        writer = threading.Thread(target=_write, args=(child.stdin, gigabytes, in_one_line))
        writer.start()
        told, measured = child.stdout.read().decode(), child.stderr.read().decode()
        writer.join()
    assert child.returncode == 0, (told, measured)
    return Endless(time.monotonic() - began, int(measured.split()[-1]), told)


def _write(pipe: IO[bytes], gigabytes: float, in_one_line: bool) -> None:
    for part in _parts(gigabytes, in_one_line):
        pipe.write(part)
    pipe.close()


def _parts(gigabytes: float, in_one_line: bool) -> Iterator[bytes]:
    yield ROW % b"Decided to keep the first crate."
    count = int(gigabytes * 1024)
    if in_one_line:
        yield b'{"role": "user", "content": "'
        part = b"x" * MiB
    else:
        line = b'{"role": "user", "content": "Where are the crates of the other ship?"}\n'
        part = line * (MiB // len(line))
    for _ in range(count):
        yield part
    if in_one_line:
        yield b'"}\n'
    yield ROW % b"Decided to keep the last crate."


def _transcript(folder: Path, number: int) -> Path:
    path = folder / f"{number}.jsonl"
    said = f"Decided to use berth {number}.\\nI'll call port {number} tomorrow."
    path.write_bytes(ROW % said.encode())
    return path


def _capture(folder: Path, session: str, transcript: Path) -> None:
    with open(transcript, "rb") as file:
        capture_session(Source(AGENT, session, "c", "chat"), file, str(folder), NOW)


def _drain(folder: Path) -> None:
    done = drain(read_settings(str(folder), None, {}), AGENT, NOW)
    assert done.failed == 0, done.faults


def _killed(work: Callable[[], object], after_s: float) -> bool:
    """Do it in a process of its own, killed so soon; whether it was done before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            os.write(writing, b"!")
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read() == b"!"


def _check(folder: Path, sessions: int) -> None:
    """Every artifact of every session is stored, and once."""
    assert queue.pending(str(folder), AGENT) == []
    connection = sqlite3.connect(database_path(str(folder)))
    try:
        rows = connection.execute("SELECT session_id, artifact_key FROM mm_memories").fetchall()
    finally:
        connection.close()
    assert len(rows) == len(set(rows)) == 3 * sessions, f"{len(rows)} rows of {sessions} sessions"
