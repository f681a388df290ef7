"""Run the machine many times, and say how often each row of section 7 was taken."""

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.lifecycle.machine import STEPS, Lives, System, World
from tests.lifecycle.tables import (
    CONFIRMED,
    FORGOTTEN,
    LINKS,
    LIVE,
    ROWS,
    STATUSES,
    UNCONFIRMED,
)

OTHERS = (
    *("3.7 duplicate: report [duplicate_record]", "3.7 duplicate: reuse"),
    *("3.6 retry", "3.6 retry after forgetting", "3.6 other request, same operation"),
    "3.6 purged a day after an unasked forget",
)


def run_lives(begin: Callable[[int], System], runs: int, seed: int, shrink: bool = True) -> World:
    """Take every row, then let the machine run; the world with its counts.

    Raises what the walk or the first bad run raised. The same seed gives the same runs. To
    shrink a bad run over a real store takes minutes.
    """
    world = World(begin)
    machine = type("Lives", (Lives,), {"world": world, "_hypothesis_internal_use_seed": seed})
    chosen = settings(
        max_examples=runs,
        stateful_step_count=STEPS + 1,  # with `begin`
        deadline=None,
        database=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    machine().take_every_row()
    run_state_machine_as_test(machine, settings=chosen, _min_steps=STEPS + 1)
    return world


def wanted_rows() -> list[str]:
    """Every row of section 7 as it is counted: taken, and refused with its own code."""
    rows = [row.name for row in ROWS if row.needs != "never"]
    rows += [f"{row.name} [{row.refused}]" for row in ROWS]
    rows += [f"{table} anything else: revise is refused [invalid_transition]" for table in LIVE]
    rows += [*CONFIRMED, *(f"{row} [not_current]" for row in UNCONFIRMED)]
    rows += [*FORGOTTEN, *STATUSES, *OTHERS]
    rows += [f"{row} [{code}]" if code else row for row, code in LINKS]
    return rows


def table_of(*taken: Counter[str]) -> str:
    """How often each row was taken, in the order of the specification; the rest after it."""
    wanted = wanted_rows()
    rest = sorted(set().union(*taken) - set(wanted))
    rows = [*wanted, *(f"also: {row}" for row in rest)]
    return "\n".join(
        "".join(f"{one[row.removeprefix('also: ')]:8d}" for one in taken) + f"  {row}"
        for row in rows
    )


def rows_never_taken(taken: Counter[str]) -> list[str]:
    """The rows of the tables that no run took."""
    return [row for row in wanted_rows() if not taken[row]]
