"""How it does: what the doctor finds, when hooks ran, what they cost, and the index."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from mash_plugin.dashboard import plots
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import render
from mash_plugin.errors import MashError

DAYS = 30
WAIT_S = 0.4
"""A page does not wait longer for the doctor: what it finds comes when it is there."""
GRAVEST = ("error", "warning", "note")
Json = dict[str, Any]


class Injected(NamedTuple):
    """What one hook put into sessions, day by day."""

    hook: str
    plot: plots.Bars
    times: int


class Latency(NamedTuple):
    """How long one hook took."""

    hook: str
    plot: plots.Bars
    half: str
    most: str


def health(place: Place, _query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """Findings first, then the plots."""
    told: Json = {}
    problem = ""
    try:
        told = place.ask("view_health", {})
    except MashError as error:  # then what the doctor finds is needed most
        problem = error.message
    findings = place.findings.get(WAIT_S)
    found = [one for gravity in GRAVEST for one in findings or () if one["severity"] == gravity]
    today = datetime.now().astimezone().date()
    return render(
        "health.html",
        place,
        nav="health",
        told=told,
        problem=problem,
        findings=found,
        is_looking=findings is None,
        looked_at=place.findings.looked_at,
        fine=sum(one["severity"] == "ok" for one in findings or ()),
        days=DAYS,
        injected=[_injected(*one, today) for one in _by_hook(told)],
        latency=list(_latencies(told)),
    )


def _by_hook(told: Json) -> Iterator[tuple[str, list[Json]]]:
    days = told.get("injected_by_day", [])
    for hook in sorted({one["hook"] for one in days}):
        yield hook, [one for one in days if one["hook"] == hook]


def _injected(hook: str, mine: list[Json], today: date) -> Injected:
    values = plots.last_days([(one["day"], one["bytes"]) for one in mine], today, DAYS)
    return Injected(hook, plots.bars(values), sum(one["times"] for one in mine))


def _latencies(told: Json) -> Iterator[Latency]:
    if told:
        limits = told["latency"]["limits_ms"]
        for hook, counts in told["latency"]["hooks"].items():
            yield _latency(hook, limits, counts)


def _latency(hook: str, limits: list[int], counts: list[int]) -> Latency:
    return Latency(
        hook,
        plots.bars(plots.columns_of(limits, counts), plots.WIDE),
        plots.within(limits, counts, 0.5),
        plots.within(limits, counts, 0.95),
    )
