"""Small plots: what stands where in them, and the same numbers in words."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

STEP = 13
WEEKS = 53
LEVELS = 4
BAR_GAP, PLOT_HEIGHT = 2, 64
NARROW, WIDE = 9, 30


class Cell(NamedTuple):
    """One day of the strip."""

    x: int
    y: int
    level: int
    day: date
    records: int


class Month(NamedTuple):
    """The name of a month above its first week, and its sum."""

    x: int
    name: str
    records: int
    first: date


class Strip(NamedTuple):
    """A year of days, a column for each week."""

    width: int
    height: int
    cells: list[Cell]
    months: list[Month]
    total: int
    busiest: Cell | None


class Bar(NamedTuple):
    """One column of a plot."""

    x: int
    y: int
    height: int
    label: str
    value: int


class Bars(NamedTuple):
    """A plot of columns with its greatest value."""

    width: int
    height: int
    bar: int
    """How wide each of them is."""
    bars: list[Bar]
    greatest: int
    total: int


def strip(counts: dict[str, int], today: date) -> Strip:
    """The calendar of the last year, the deepest colour for the busiest day."""
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    greatest = max(counts.values(), default=0)
    cells, sums = [], dict[date, int]()
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        count = counts.get(day.isoformat(), 0)
        level = -(-count * LEVELS // greatest) if greatest else 0
        week, weekday = divmod(number, 7)
        cells.append(Cell(week * STEP, 16 + weekday * STEP, level, day, count))
        month = day.replace(day=1)
        sums[month] = sums.get(month, 0) + count
    busiest = max(cells, key=lambda cell: cell.records)
    total = sum(sums.values())
    months = [
        Month(_week(month, first) * STEP, f"{month:%b}", count, month)
        for month, count in sums.items()
    ]
    if len(months) > 1 and months[1].x - months[0].x < 3 * STEP:
        months[0] = months[0]._replace(name="")
    return Strip(
        WEEKS * STEP, 16 + 7 * STEP, cells, months, total, busiest if busiest.records else None
    )


def bars(values: Sequence[tuple[str, int]], width: int = NARROW) -> Bars:
    """Columns side by side, the greatest as high as the plot."""
    greatest = max((value for _, value in values), default=0)
    columns = []
    for number, (label, value) in enumerate(values):
        height = max(1, round(value * PLOT_HEIGHT / greatest)) if value else 0
        x = number * (width + BAR_GAP)
        columns.append(Bar(x, PLOT_HEIGHT - height, height, label, value))
    total = sum(value for _, value in values)
    span = len(values) * (width + BAR_GAP)
    return Bars(span, PLOT_HEIGHT, width, columns, greatest, total)


def last_days(found: Iterable[tuple[str, int]], today: date, count: int) -> list[tuple[str, int]]:
    """A value for each of the last days, nothing where nothing was."""
    known = dict(found)
    days = [today - timedelta(days=back) for back in range(count - 1, -1, -1)]
    return [(day.isoformat(), known.get(day.isoformat(), 0)) for day in days]


def columns_of(limits: Sequence[int], counts: Sequence[int]) -> list[tuple[str, int]]:
    """The columns of a histogram with their limits in words."""
    names = [f"up to {limit} ms" for limit in limits] + [f"over {limits[-1]} ms"]
    return list(zip(names, counts, strict=True))


def within(limits: Sequence[int], counts: Sequence[int], share: float) -> str:
    """The column that this share of all reaches, in words."""
    wanted, seen = share * sum(counts), 0
    for limit, count in zip(limits, counts, strict=False):
        seen += count
        if seen >= wanted:
            return f"{limit} ms"
    return f"more than {limits[-1]} ms"


def _week(month: date, first: date) -> int:
    return max(0, (month - first).days + 6) // 7
