"""Work that an answer may leave behind: each kind has threads of its own and a shared deadline."""

import threading
import time
from collections.abc import Callable
from queue import Empty, Full, Queue
from typing import Generic, TypeVar

T = TypeVar("T")

BACKLOG = 16
"""Waiting jobs beyond which a lane refuses: it hangs, and its hooks go on without it."""
IDLE_S = 60.0


class Part(Generic[T]):
    """One piece of an answer on its way."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done = threading.Event()
        self._value: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do the work; a failure is kept for the caller to report."""
        try:
            self._value = self._work()
        except Exception as error:  # a part that fails is a part that is missing
            self.error = error
        self._done.set()

    def refuse(self, error: BaseException) -> None:
        """Fail without doing the work."""
        self.error = error
        self._done.set()

    def value(self, until: float) -> T | None:
        """The result, or None when it failed or is not there at that `time.monotonic()`."""
        self._done.wait(max(0.0, until - time.monotonic()))
        return self._value if self._done.is_set() else None


class Lane:
    """Owns up to `threads` threads for one kind of work; idle ones end by themselves."""

    def __init__(self, name: str, threads: int = 2) -> None:
        self._name = name
        self._threads = threads
        self._jobs: Queue[Part[object]] = Queue(BACKLOG)
        self._lock = threading.Lock()
        self._running = 0
        self._idle = 0

    def start(self, work: Callable[[], T]) -> Part[T]:
        """Begin this work beside the caller."""
        part = Part(work)
        try:
            self._jobs.put_nowait(part)  # type: ignore[arg-type]  # a queue of parts of any kind
        except Full:
            part.refuse(TimeoutError(f"the {self._name} lane is full"))
            return part
        with self._lock:
            if self._idle == 0 and self._running < self._threads:
                self._running += 1
                threading.Thread(target=self._work, name=f"hook-{self._name}", daemon=True).start()
        return part

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            try:
                part = self._jobs.get(timeout=IDLE_S)
            except Empty:
                part = None
            with self._lock:
                self._idle -= 1
                if part is None:
                    if not self._jobs.empty():
                        continue
                    self._running -= 1
                    return
            part.run()
            del part
