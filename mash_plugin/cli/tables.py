"""Tables for people: as wide as the terminal, in any script, and plain text where none reads."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING, TextIO

import click

from mash_plugin.render.text import clean, local_date

if TYPE_CHECKING:
    from rich.console import Console

UNLIMITED = 100_000
"""In a file or a pipe no line is broken: what reads it searches whole lines."""
NARROW = 64
"""Below this the last column would be a handful of words: it goes under the others."""
SHORT_ID = 12
ZONE_AT = len("2026-11-30 12:49 ")

Row = Sequence[str]


def print_table(
    rows: Iterable[Row], headings: Row | None = None, widths: Sequence[int] = ()
) -> None:
    """Print rows whose last cell takes what is left of the line; cells may hold several lines.

    `widths`: the least width of the first columns, so that tables printed in turn line up.
    """
    width = line_width()
    console = _console(width)
    if width < NARROW:
        _print_stacked(console, [*([headings] if headings else []), *rows])
    else:
        _print_columns(console, rows, headings, widths)
    written = console.file
    assert isinstance(written, StringIO)  # noqa: S101 - see _console
    for line in written.getvalue().splitlines():
        click.echo(line.rstrip())


def line_width() -> int:
    """The columns of the terminal, or as many as there may be."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED


def takes_controls(stream: TextIO) -> bool:
    """Whether it leads to a terminal that does more than print: moves the cursor, shows colours."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def lines_of(*lines: str) -> str:
    """A cell of several lines: each cleaned of what is not seen, empty ones left out."""
    return "\n".join(line for line in map(clean, lines) if line)


def moments(heading: str, times: Sequence[object]) -> tuple[str, list[str]]:
    """A column of dates with its heading, where the zone stands once if all have the same."""
    dates = [local_date(at) for at in times]
    zones = {zone for date in dates if (zone := date[ZONE_AT:])}
    if len(zones) != 1:
        return heading, [when(at) for at in times]
    return f"{heading} {zones.pop()}", [date[:ZONE_AT].rstrip() for date in dates]


def when(at_ms: object) -> str:
    """A cell with a date: the zone on a line of its own."""
    return local_date(at_ms).replace(" UTC", "\nUTC")


def short_ids(ids: Sequence[str]) -> dict[str, str]:
    """The beginning of each ID that tells it from the others here, and that commands accept."""
    length = SHORT_ID
    longest = max(map(len, ids), default=0)
    while len({i[:length] for i in ids}) < len(set(ids)) and length < longest:
        length += 1
    return {i: clean(i[:length]) for i in ids}


def _console(width: int) -> "Console":
    from rich.console import Console  # 20 ms, for those who look at a table

    has_styles = takes_controls(sys.stdout) and not os.environ.get("NO_COLOR")
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=has_styles,
        color_system="standard" if has_styles else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _print_columns(
    console: "Console", rows: Iterable[Row], headings: Row | None, widths: Sequence[int]
) -> None:
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(cell) for cell in row] for row in rows]
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        show_header=headings is not None,
        header_style="bold",
    )
    names = headings or ("",) * len(cells[0])
    for number, name in enumerate(names):
        is_last = number == len(names) - 1
        table.add_column(
            Text(name),
            no_wrap=not is_last,
            overflow="fold",
            min_width=widths[number] if number < len(widths) else None,
        )
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _print_stacked(console: "Console", rows: Iterable[Row]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for *first, last in rows:
        lead = "  ".join(cell.replace("\n", " ") for cell in first if cell)
        console.print(Text(lead, overflow="fold"))
        if last:
            console.print(Padding(Text(last, overflow="fold"), (0, 0, 0, 2)))
