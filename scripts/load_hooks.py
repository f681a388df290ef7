"""A steady stream of hooks, with bursts, from one thread that only starts and reaps processes."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from bench_place import EVENTS, Place

BARE_EVERY = 4
"""After how many hooks the bare interpreter is timed once, under the same load."""
WEIGHTS = {"session-start": 1, "prompt-submit": 3, "file-read": 12, "reminder-timer": 3}
"""What a session's hooks are: mostly reads."""
OUTER_S = 1.0
"""The bound of every hook's wall time, to which a busy machine adds the process's own start."""
PIPE_BYTES = 1 << 16


class Started(NamedTuple):
    """A process under way."""

    kind: str
    """The name of a hook, `bare`, or `burst`."""
    at: float
    out: int


@dataclass
class Figures:
    """What the stream saw."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Wall time of each process, by its kind."""
    bursts: list[float] = field(default_factory=list)
    """Wall time of each burst, to its last hook's end."""
    failures: list[str] = field(default_factory=list)
    silent_starts: int = 0
    """Session starts that said nothing: allowed to a hook, but not what it is for."""
    starts: int = 0


class Stream:
    """Starts processes on time and waits for each; SIGCHLD is blocked, not handled."""

    def __init__(self, place: Place, sessions: int, burst: int) -> None:
        self.figures = Figures()
        self._place = place
        self._burst = burst
        self._random = random.Random(3)  # noqa: S311 - repeatable load
        self._sessions = [json.loads(place.payload("session-start")) for _ in range(sessions)]
        self._running: dict[int, Started] = {}
        self._null = os.open(os.devnull, os.O_RDONLY)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})

    def run(self, seconds: float, rate: float, burst_every: float) -> Iterator[float]:
        """Keep the rate for so long; yields the time that has passed, about once a second."""
        begin = time.monotonic()
        next_hook, next_burst, next_look, number = begin, begin + burst_every, begin, 0
        names = list(WEIGHTS)
        while (now := time.monotonic()) < begin + seconds:
            while next_hook <= now:
                number += 1
                [name] = self._random.choices(names, [WEIGHTS[name] for name in names])
                self._start(name, name)
                if number % BARE_EVERY == 0:
                    self._start("bare", "bare")
                next_hook += 1 / rate
            if next_burst <= now:
                self._run_burst()
                next_burst += burst_every
                next_hook = max(next_hook, time.monotonic())
            if next_look <= now:
                yield now - begin
                next_look += 1.0
            self._reap(max(0.0, min(next_hook, next_burst, next_look) - time.monotonic()))
        while self._running:
            self._reap(OUTER_S)

    def _run_burst(self) -> None:
        begin = time.monotonic()
        for _ in range(self._burst):
            self._start("burst", "file-read")
        while any(started.kind == "burst" for started in self._running.values()):
            self._reap(OUTER_S)
        self.figures.bursts.append(time.monotonic() - begin)

    def _start(self, kind: str, name: str) -> None:
        place = self._place
        stdin = self._null if kind == "bare" else _filled(self._payload(name))
        read_out, write_out = os.pipe()
        command = place.floor() if kind == "bare" else place.hook(name)
        actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, write_out, 1)]
        at = time.perf_counter()
        pid = os.posix_spawn(command[0], command, place.env, file_actions=actions, setsigmask=[])
        self._running[pid] = Started(kind, at, read_out)
        os.close(write_out)
        if stdin != self._null:
            os.close(stdin)

    def _payload(self, name: str) -> bytes:
        session = self._random.choice(self._sessions)
        payload = json.loads(self._place.payload(name))
        if name != "session-start":  # each start is that of a new session
            payload |= {key: session[key] for key in ("session_id", "transcript_path")}
        return json.dumps(payload).encode()

    def _reap(self, timeout_s: float) -> None:
        """Wait for an end, or for so long; then note all that have ended."""
        signal.sigtimedwait({signal.SIGCHLD}, timeout_s)
        now = time.perf_counter()
        for pid, started in list(self._running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._running[pid]
                self._note(started, now - started.at, status)

    def _note(self, started: Started, seconds: float, status: int) -> None:
        said = os.read(started.out, PIPE_BYTES)
        os.close(started.out)
        self.figures.seconds.setdefault(started.kind, []).append(seconds)
        if started.kind == "bare":
            return
        fault = fault_of(status, said)
        if fault:
            self.figures.failures.append(f"{started.kind}: {fault}")
        if started.kind == "session-start":
            self.figures.starts += 1
            self.figures.silent_starts += not said


def fault_of(status: int, said: bytes) -> str | None:
    """What is wrong with how a hook ended: it may be silent, but never fail or say half a thing."""
    if status:
        return f"ended with status {status}"
    if not said:
        return None
    try:
        event = json.loads(said)["hookSpecificOutput"]["hookEventName"]
    except (ValueError, KeyError, TypeError):
        return f"said {said[:60]!r}"
    return None if event in EVENTS.values() else f"answered {event!r}"


def _filled(payload: bytes) -> int:
    """The reading end of a pipe that holds this and is closed behind it."""
    read_end, write_end = os.pipe()
    os.write(write_end, payload)
    os.close(write_end)
    return read_end
