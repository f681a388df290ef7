"""Whether the answer to a hook arrived, and what is taken back where it did not."""

import _socket as socket  # see lifecycle
import math
from collections import deque
from collections.abc import Callable

MOST_UNREAD = 64
HOOK_LIFE_S = 2.0
"""A hook that has not ended by then has read its answer."""
Undo = list[Callable[[], None]]
"""What takes back that something was shown, should the answer never arrive."""


class Delivery:
    """The way of one answer to its hook: what to do once it has arrived, or never will."""

    def __init__(self) -> None:
        self.undo: Undo = []
        self.whenever: list[Callable[[], object]] = []
        """Called once it was sent, or could not be."""
        self.on_failure: Callable[[], None] = lambda: None

    def take_back(self) -> None:
        """Let what the answer showed count as not shown."""
        while self.undo:
            self.undo.pop()()

    def fail(self) -> None:
        """The answer did not arrive: it was too late."""
        self.take_back()
        self.on_failure()

    def end(self) -> None:
        """Tell those who wait for it."""
        while self.whenever:
            self.whenever.pop()()


class Unread:
    """Owns the sockets of hooks that were answered and may not have read it.

    The kernel tells of a hook that ended, starved of time, before it did.
    """

    def __init__(self) -> None:
        self._sent: deque[tuple[socket.socket, float, Delivery]] = deque()

    def keep(self, to: socket.socket, since: float, delivery: Delivery) -> None:
        """Take over a socket whose answer was ready at `since`, of `time.monotonic()`."""
        self._sent.append((to, since, delivery))
        if len(self._sent) > MOST_UNREAD:
            oldest, _, its_delivery = self._sent.popleft()
            _was_lost(oldest, its_delivery)
            oldest.close()

    def look(self, now: float) -> None:
        """Find out which hooks ended without reading; let go of those, and of the older ones."""
        for sent in list(self._sent):
            to, since, delivery = sent
            if _was_lost(to, delivery) or now - since >= HOOK_LIFE_S:
                self._sent.remove(sent)
                to.close()

    def close(self) -> None:
        """The same once more, and let go of all."""
        self.look(math.inf)


def _was_lost(to: socket.socket, delivery: Delivery) -> bool:
    """Whether the hook has ended without reading the answer, which counts as not given then."""
    if not to.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        return False
    delivery.fail()
    return True
