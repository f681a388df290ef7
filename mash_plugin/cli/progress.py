"""How far a long work has come: one line on standard error that any terminal can show."""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from mash_plugin.cli.tables import takes_controls

LINE_EVERY_S = 5.0
"""Where a line cannot be written over, so often a new one tells."""
STEADY_AFTER_S = 1.0
"""Before, a rate says nothing yet."""
UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass
class Progress:
    """A line that grows; without a terminal, or in a `dumb` one, a line now and then."""

    label: str
    clock: Callable[[], float] = time.monotonic
    is_live: bool = field(default_factory=lambda: takes_controls(sys.stderr))
    unit: str = "bytes"
    _is_told: bool = False
    _began_at: float | None = None
    _began_with: int = 0
    _told_at: float = 0.0
    _width: int = 0

    def show(self, done: int, total: int, detail: str = "") -> None:
        """Tell of `done` of `total`; what was done before the first call has no rate."""
        if not self._is_told:
            self._is_told = True
            self._write(f"{self.label} ...")
        if not total:  # it is still being counted
            return
        now = self.clock()
        if self._began_at is None:
            self._began_at, self._began_with, self._told_at = now, done, now
            return
        if not self.is_live and now - self._told_at < LINE_EVERY_S:
            return
        self._told_at = now
        pace = pace_words(done - self._began_with, total - done, now - self._began_at, self.unit)
        percent = 100 * done // total
        parts = [f"{percent} % of {amount_words(total, self.unit)}", detail, pace]
        self._write(f"{self.label}: {', '.join(part for part in parts if part)}")

    def end(self) -> None:
        """Leave the line; what comes next begins on its own."""
        if self.is_live and self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0

    def _write(self, text: str) -> None:
        if not self.is_live:
            click.echo(text, err=True)
            return
        text = text[: max(shutil.get_terminal_size().columns - 1, 20)]
        click.echo(f"\r{text.ljust(self._width)}", nl=False, err=True)
        self._width = len(text)


def pace_words(done: int, left: int, seconds: float, unit: str = "bytes") -> str:
    """The rate so far and the time left at that rate; nothing while nobody can tell."""
    if seconds < STEADY_AFTER_S or done <= 0:
        return ""
    rate = done / seconds
    return f"{amount_words(int(rate), unit)}/s, {time_words(left / rate)} left"


def amount_words(amount: int, unit: str) -> str:
    """An amount of bytes as a size, of anything else as a number."""
    return size_words(amount) if unit == "bytes" else f"{amount:,} {unit}"


def size_words(size: int) -> str:
    """A size that people can compare: `340 B`, `12 kB`, `1.2 GB`."""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    number = f"{value:.1f}" if unit and value < 9.95 else f"{value:.0f}"
    return f"{number} {UNITS[unit]}"


def time_words(seconds: float) -> str:
    """A length of time in the unit that matters: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 99.5:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"
