"""Crashes for as long as one likes; whatever is found is told with the line that shows it again."""

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.crash import failing, power
from tests.crash.all_work import WORK
from tests.crash.killing import kill_daemons
from tests.support.daemons import Place

KINDS = ("power", "faults", "kills")
CUTS, CALLS, KILLS = 20, 1, 20
"""Of one piece of work in one round: a short run comes to all of them."""


class Wanted(NamedTuple):
    """What to try: everything, or what one line of an earlier run names."""

    seed: int
    only: str | None = None
    work: str | None = None
    failure: str | None = None
    number: int | None = None


def run(wanted: Wanted, until: float) -> tuple[Counter[str], list[str]]:
    """Try until then (by the monotonic clock); how often what, and every fault that was met."""
    found: Counter[str] = Counter()
    faults: list[str] = []
    for number, attempt in enumerate(_attempts(wanted)):
        if number and time.monotonic() > until:
            break
        try:
            found += attempt()
        except AssertionError as error:
            faults.append(str(error))
            sys.stderr.write(f"{error!s:.1500}\n")
    return found, faults


def _attempts(wanted: Wanted) -> Iterator[Callable[[], Counter[str]]]:
    """Each piece of work in every way, round by round; or the one that is named, once."""
    seed = wanted.seed
    while True:
        for name in [wanted.work] if wanted.work else WORK:
            if wanted.only in (None, "power"):
                yield lambda n=name, s=seed: _power(n, s, wanted.number)
            if wanted.only in (None, "faults"):
                for failure in [wanted.failure] if wanted.failure else failing.FAILURES:
                    yield lambda n=name, f=failure, s=seed: _faults(n, f, s, wanted.number)
        if wanted.only in (None, "kills"):
            yield lambda s=seed: _kills(s)
        if wanted.number is not None:
            return
        seed += 1


def _power(name: str, seed: int, number: int | None) -> Counter[str]:
    numbers = range(CUTS) if number is None else [number]
    with _recorded(name) as recorded:
        power.cut(recorded, seed, numbers)
    return Counter({f"power cuts of {name}": len(numbers)})


def _faults(name: str, failure: str, seed: int, number: int | None) -> Counter[str]:
    failing_as = failing.FAILURES[failure]
    with _recorded(name) as recorded:
        calls = failing.some_calls(recorded, failing_as, CALLS, seed)
        calls = calls if number is None else [number]
        failing.fail(recorded, failing_as, calls)
    return Counter({f"failing calls of {name}": len(calls)})


@contextmanager
def _recorded(name: str) -> Iterator[power.Recorded]:
    with power.a_place(Path(tempfile.gettempdir())) as folder:
        yield power.record(WORK[name](folder))


def _kills(seed: int) -> Counter[str]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        try:
            found = kill_daemons(place, KILLS, random.Random(seed))  # noqa: S311 - moments
        except AssertionError as error:
            again = f"scripts/soak crash --only kills --seed {seed}"
            raise power.Fault(f"{again}\n{error}") from error
        finally:
            place.close()
    return Counter({f"kills of a daemon, {point}": times for point, times in found.items()})
