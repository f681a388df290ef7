"""Wait so long for the network and no longer: names and dead connections outlast every time-out."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from mash_plugin.errors import SharedUnavailable

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

T = TypeVar("T")
SILENT_S, LOOK_EVERY_S = 40.0, 1.0
"""A server that works ends every statement sooner, by the time limits of the session."""


class _Work(Generic[T]):
    """Something under way in a thread of its own, which may be given up."""

    def __init__(self, work: Callable[[], T], discard: Callable[[T], None] | None) -> None:
        self._work, self._discard = work, discard
        self._lock = threading.Lock()
        self._is_given_up = False
        self._done = threading.Event()
        self._results: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it; a result that nobody waits for any more is thrown away."""
        try:
            result = self._work()
        except BaseException as error:  # it is raised where somebody waits
            self._error = error
        else:
            with self._lock:
                self._results.append(result)
                is_late = self._is_given_up
            if is_late and self._discard is not None:
                self._discard(result)
        self._done.set()

    def wait(self, seconds: float) -> bool:
        """Whether it is done in time; if not, it is given up."""
        if self._done.wait(seconds):
            return True
        with self._lock:
            self._is_given_up = not self._results
        return not self._is_given_up

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]


def within(
    seconds: float,
    work: Callable[[], T],
    *,
    discard: Callable[[T], None] | None = None,
) -> T:
    """What `work` gives, or its error. Raises SharedUnavailable when it is not done in time.

    What is given up goes on in its thread; `discard` closes what it opens too late.
    """
    doing = _Work(work, discard)
    threading.Thread(target=doing.run, name="group-deadline", daemon=True).start()
    if not doing.wait(seconds):
        raise SharedUnavailable(
            f"The group's server did not answer within {seconds:g} s. Nothing was read in its"
            " place; try again when it can be reached."
        )
    return doing.result()


@contextmanager
def cut_off(db: "GroupDatabase") -> Iterator[None]:
    """Cut the connection when its server answers nothing for long, however long the work is.

    A process that was stopped keeps no time limit, and its machine keeps the connection alive.
    """
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.wait(LOOK_EVERY_S):
            since = db.waits_since
            if since is not None and time.monotonic() - since > SILENT_S:
                db.cut()
                return

    threading.Thread(target=watch, name="group-watch", daemon=True).start()
    try:
        yield
    finally:
        is_done.set()
