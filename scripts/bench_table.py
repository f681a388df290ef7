"""One line of the table of figures."""

from dataclasses import dataclass
from math import isnan, nan

NOT_MEASURED = nan


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    value: float
    unit: str
    most: float | None = None
    note: str = ""
    least: float | None = None
    key: str = ""
    """Where a plot draws it: its plot, what it is of, and the size where it grows."""

    @property
    def is_missed(self) -> bool:
        if self.least is not None and self.value < self.least:
            return True
        return self.most is not None and self.value > self.most

    @property
    def shown(self) -> str:
        """The value as tables have it."""
        return "not measured" if isnan(self.value) else f"{self.value:.2f}"

    @property
    def promise(self) -> str:
        """What it may be at most or must be at least."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"

    def __str__(self) -> str:
        goal = self.promise and f"({self.promise}{' MISSED' * self.is_missed})"
        return f"{self.what:<58} {self.shown:>9} {self.unit:<5} {goal:<18} {self.note}".rstrip()
