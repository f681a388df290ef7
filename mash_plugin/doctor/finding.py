"""What an examination finds, and what can be done about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["ok", "note", "warning", "error"]
ORDER: tuple[Severity, ...] = ("ok", "note", "warning", "error")


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that mends a finding and loses nothing."""

    run: Callable[[], str]
    """Does it and tells what was done; raises MashError or OSError where it cannot."""
    question: str = ""
    """What a person is asked first; empty where no data moves."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """Stable, for scripts: `run-folder-open`."""
    severity: Severity
    what: str
    why: str = ""
    """What follows from it, or where it comes from."""
    next: str = ""
    """The command that helps, to be copied as it stands; else what a person has to do."""
    repair: Repair | None = None

    @property
    def is_problem(self) -> bool:
        """Whether something is to be done."""
        return self.severity in ("warning", "error")
