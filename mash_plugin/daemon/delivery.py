"""Whether the answer to a hook arrived, and what is taken back where it did not."""

from collections.abc import Callable

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
