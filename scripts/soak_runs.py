"""The long runs by name, each a function of its options that gives an exit status."""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.lifecycle.part import run_parts
from tests.lifecycle.runs import rows_never_taken, table_of

SHARE = 250
"""Runs of one process: then a new daemon with an empty store takes over."""
PART_TIMEOUT_S = 3_600.0


def lifecycle(options: Sequence[str]) -> int:
    """Arbitrary lives of records against the model: the rules alone, and the store."""
    parser = argparse.ArgumentParser(prog="scripts/soak lifecycle", description=lifecycle.__doc__)
    parser.add_argument("--runs", type=int, default=20_000, metavar="N", help="of 50 steps each")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin nothing after these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="the first; each share takes one more")
    parser.add_argument("--against", choices=("pure", "served"), default="served")
    chosen = parser.parse_args(options)
    end = time.monotonic() + 60 * chosen.minutes if chosen.minutes else float("inf")
    taken: Counter[str] = Counter()
    runs = steps = 0
    seed = chosen.seed
    while runs < chosen.runs and time.monotonic() < end:
        wanted = min(chosen.runs - runs, SHARE * chosen.jobs)
        seeds = range(seed, seed + chosen.jobs)
        seed += chosen.jobs
        try:
            part = run_parts(chosen.against, wanted, seeds, PART_TIMEOUT_S)
        except AssertionError as error:
            print(error)
            print(f"Seeds {seeds.start} to {seeds.stop - 1}: a run broke a rule.", file=sys.stderr)
            return 1
        runs, steps, taken = runs + part.runs, steps + part.steps, taken + part.taken
        print(f"{runs} of {chosen.runs} runs, {steps} steps, no rule broken", flush=True)
    print(table_of(taken))
    if untaken := rows_never_taken(taken):
        print("Never taken:", *untaken, sep="\n  ", file=sys.stderr)
    return int(bool(untaken))


SOAKS: dict[str, Callable[[Sequence[str]], int]] = {"lifecycle": lifecycle}
