"""How far an export or import is: told to whoever asks, and broken off at the person's word."""

from typing import Any, Literal

from mash_plugin.errors import InvalidState

Unit = Literal["bytes", "lines"]
BROKEN_OFF = "Broken off: nothing was changed."


class Meter:
    """Counts in the thread that works; other threads read it and may break the work off."""

    def __init__(self) -> None:
        self._step = ""
        self._done = self._total = 0
        self._unit: Unit = "bytes"
        self._is_broken_off = False

    def begin(self, step: str, total: int, unit: Unit) -> None:
        """Begin the next step of the work, named as people see it."""
        self._step, self._done, self._total, self._unit = step, 0, total, unit
        self.reach(0)

    def reach(self, done: int) -> None:
        """Note how much of the step is done. Raises InvalidState when it is to end here."""
        self._done = done
        if self._is_broken_off:
            raise InvalidState(BROKEN_OFF)

    def break_off(self) -> None:
        """Let the work end, as a failure, where it comes to next."""
        self._is_broken_off = True

    def as_json(self) -> dict[str, Any]:
        """What is told of it."""
        done = min(self._done, self._total)
        return {"step": self._step, "done": done, "total": self._total, "unit": self._unit}
