"""One line of the table of figures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    value: float
    unit: str
    most: float | None = None
    note: str = ""
    least: float | None = None

    @property
    def is_missed(self) -> bool:
        if self.least is not None and self.value < self.least:
            return True
        return self.most is not None and self.value > self.most

    def __str__(self) -> str:
        goal = "" if self.most is None else f"at most {self.most:g}"
        goal = goal if self.least is None else f"at least {self.least:g}"
        goal = f"({goal}{' MISSED' * self.is_missed})" if goal else ""
        return f"{self.what:<58} {self.value:9.2f} {self.unit:<5} {goal:<18} {self.note}".rstrip()
