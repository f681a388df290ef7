"""Which piece of the background work is due, and for how long there is none."""

import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

SHORTEST_WAIT_S = 0.01


@dataclass(slots=True)
class Job:
    """One kind of work; times are of `time.monotonic()`."""

    name: str
    work: Callable[[], None]
    at: float = math.inf
    """When it is due; as long as nobody asks for it, never."""
    every_s: float = math.inf
    """How long after it was begun it is due again by itself."""

    @property
    def is_asked_for(self) -> bool:
        """Whether it is to be done at all."""
        return self.at < math.inf

    def by(self, at: float) -> None:
        """Have it done then, unless it is due before."""
        self.at = min(self.at, at)


class Agenda:
    """Kinds of work, what comes first when several are due before the others."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs

    def take(self, now: float) -> Job | None:
        """What is to be done now; it counts as begun."""
        for job in self._jobs:
            if now >= job.at:
                job.at = now + job.every_s
                return job
        return None

    def wait_s(self, now: float) -> float:
        """Until something is due."""
        return max(SHORTEST_WAIT_S, min(job.at for job in self._jobs) - now)


def give_way() -> None:
    """Give this thread a low priority."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
