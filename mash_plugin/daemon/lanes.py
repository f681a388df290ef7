"""Work that an answer may leave behind: each kind has threads of its own and a shared deadline."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mash_plugin.store.connection import limited

T = TypeVar("T")

BACKLOG = 16
"""Waiting jobs beyond which a lane refuses: it hangs, and its hooks go on without it."""
IDLE_S = 60.0


class Part(Generic[T]):
    """One piece of an answer on its way; done by whichever thread comes to it first."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._claim = threading.Lock()
        self._done = threading.Event()
        self._value: T | None = None
        self.error: BaseException | None = None

    @property
    def is_begun(self) -> bool:
        """Whether a thread has come to it."""
        return self._claim.locked()

    @property
    def is_done(self) -> bool:
        """Whether it has found something, or failed."""
        return self._done.is_set()

    def run(self) -> None:
        """Do the work unless another thread does; a failure is kept for the caller to report."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._value = self._work()
        except Exception as error:  # a part that fails is a part that is missing
            self.error = error
        self._done.set()

    def refuse(self, error: BaseException) -> None:
        """Fail without doing the work."""
        if self._claim.acquire(blocking=False):
            self.error = error
            self._done.set()

    def wait(self, until: float) -> bool:
        """Whether it is done by that `time.monotonic()`."""
        return self._done.wait(max(0.0, until - time.monotonic()))

    def value(self, until: float) -> T | None:
        """The result, or None when it failed or is not there at that `time.monotonic()`."""
        return self._value if self.wait(until) else None


class Lane:
    """Owns up to `threads` threads for one kind of work; idle ones end by themselves."""

    def __init__(self, name: str, threads: int = 2) -> None:
        self._name = name
        self._threads = threads
        self._jobs: deque[tuple[Part[Any], ...]] = deque()
        self._changed = threading.Condition()
        self._running = 0
        self._idle = 0

    @property
    def is_free(self) -> bool:
        """Whether nothing waits or hangs here."""
        return self._running == self._idle and not self._jobs

    def start(self, work: Callable[[], T]) -> Part[T]:
        """Begin this work beside the caller."""
        part = Part(work)
        self.begin(part)
        return part

    def begin(self, *parts: Part[Any]) -> None:
        """Let one thread do these parts, one after the other."""
        with self._changed:
            if len(self._jobs) >= BACKLOG:
                for part in parts:
                    part.refuse(TimeoutError(f"the {self._name} lane is full"))
                return
            self._jobs.append(parts)
            if len(self._jobs) > self._idle and self._running < self._threads:
                threading.Thread(target=self._work, name=f"hook-{self._name}", daemon=True).start()
                self._running += 1
            self._changed.notify()

    def _work(self) -> None:
        with limited():  # a query that hangs must not keep the lane from later hooks
            while parts := self._next():
                for part in parts:
                    part.run()

    def _next(self) -> tuple[Part[Any], ...]:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._jobs, IDLE_S)
            self._idle -= 1
            if self._jobs:
                return self._jobs.popleft()
            self._running -= 1
            return ()
