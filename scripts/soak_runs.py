"""The long runs by name, each a function of its options that gives an exit status."""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from mash_plugin.backfill.plan import MOST_REVIEWS
from mash_plugin.paths import find_paths
from tests.crash import long_run
from tests.crash.all_work import WORK
from tests.crash.failing import FAILURES
from tests.lifecycle.part import run_parts
from tests.lifecycle.runs import rows_never_taken, table_of
from tests.support.backfill_place import FAILPOINTS as POINTS
from tests.support.backfill_place import BackfillPlace
from tests.support.daemons import Place
from tests.support.exported_lives import export_lives
from tests.support.groups import running_group, running_server
from tests.support.killed_captures import capture_endless, kill_captures, kill_drains
from tests.support.killed_publications import kill_publications
from tests.support.killed_transfers import kill_imports, kill_restores
from tests.support.migrating import FAILPOINTS, LONGEST_S, cut, schemas, write_migrations
from tests.support.schema_fixtures import fixtures, newest, unpack

SHARE = 250
"""Runs of one process: then a new daemon with an empty store takes over."""
MOST_KIB = 64 << 10
"""What a capture may take, however long its transcript is."""
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


def migration(options: Sequence[str]) -> int:
    """Migrations of both stores, killed at random moments and at each failpoint."""
    parser = argparse.ArgumentParser(prog="scripts/soak migration", description=migration.__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="kills")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    chosen = parser.parse_args(options)
    chance = random.Random(chosen.seed)  # noqa: S311 - only chooses the moment
    with tempfile.TemporaryDirectory() as folder:
        migrations = write_migrations(Path(folder) / "migrations")
        found: Counter[str] = Counter()
        for number in range(chosen.runs):
            paths = find_paths({"MASH_HOME": str(Path(folder) / str(number))})
            unpack(fixtures()[-1], paths)
            failpoint = FAILPOINTS[number] if number < len(FAILPOINTS) else None
            cut(paths, migrations, failpoint=failpoint, after_s=chance.uniform(0, LONGEST_S))
            found[" ".join(f"{family} {at}" for family, at in schemas(paths).items())] += 1
            cut(paths, migrations, after_s=PART_TIMEOUT_S)
            after = {family: at + 1 for family, at in newest().items()}
            assert schemas(paths) == after, f"run {number}: not gone on with"
    for state, times in sorted(found.items()):
        print(f"{times:6} kills left {state}")
    return 0


def backfill(options: Sequence[str]) -> int:
    """Runs of a backfill, killed at random moments and at each failpoint."""
    parser = argparse.ArgumentParser(prog="scripts/soak backfill", description=backfill.__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="kills")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    chosen = parser.parse_args(options)
    chance = random.Random(chosen.seed)  # noqa: S311 - only chooses the moment
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        try:
            return _killed_backfills(BackfillPlace(place), chosen.runs, chance)
        finally:
            place.close()


def _killed_backfills(person: BackfillPlace, runs: int, chance: random.Random) -> int:
    found: Counter[str] = Counter()
    person.chat("We keep times in UTC.", "whole")
    person.place.index()
    began = time.monotonic()
    assert person.cut() == 0, "a run that nobody kills fails"
    longest_s = 1.2 * (time.monotonic() - began)
    for number in range(runs):
        person.chat(f"We keep amounts in cents, {number}.", f"chat-{number}")
        person.place.index()
        if number < len(POINTS):
            person.cut(failpoint=POINTS[number])
        else:
            person.cut(after_s=chance.uniform(0, longest_s))
        state, records = person.state_of(f"chat-{number}")
        assert (state, records) in (("due", 0), ("done", 1)), f"run {number}: {state}, {records}"
        found[state] += 1
    for _ in range(0, runs, MOST_REVIEWS):
        code = person.cut(after_s=PART_TIMEOUT_S)
        assert code == 0, f"what the kills left was not gone on with: {code}"
    states = {person.state_of(f"chat-{number}") for number in range(runs)}
    assert states == {("done", 1)}, states
    assert len(person.records()) == runs + 1, f"{len(person.records())} records of {runs} chats"
    for state, times in sorted(found.items()):
        print(f"{times:6} kills left a chat {state}")
    return 0


def transfer(options: Sequence[str]) -> int:
    """Imports and restores, killed at each failpoint and at random moments; lives exported."""
    parser = argparse.ArgumentParser(prog="scripts/soak transfer", description=transfer.__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="kills of each")
    parser.add_argument("--lives", type=int, default=200, metavar="N", help="of 50 steps each")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and the lives")
    chosen = parser.parse_args(options)
    chance = random.Random(chosen.seed)  # noqa: S311 - only chooses the moment
    with tempfile.TemporaryDirectory() as folder:
        found = kill_imports(Path(folder), chosen.runs, chance)
        found += kill_restores(Path(folder), chosen.runs, chance)
        export_lives(Path(folder) / "exported", chosen.lives, chosen.seed)
    for state, times in sorted(found.items()):
        print(f"{times:6} kills of {state}")
    print(f"{chosen.lives:6} lives came back from their exports")
    return 0


def publish(options: Sequence[str]) -> int:
    """Three members' daemons, and the server, killed while they publish to a group."""
    parser = argparse.ArgumentParser(prog="scripts/soak publish", description=publish.__doc__)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    chosen = parser.parse_args(options)
    chance = random.Random(chosen.seed)  # noqa: S311 - only chooses the moment
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        folder = Path(name)
        with running_group(server, folder / "group") as group:
            found = kill_publications(folder, server, group, chosen.kills, chance)
    for what, times in sorted(found.items()):
        print(f"{times:6} {what}")
    return 0


def throughline(options: Sequence[str]) -> int:
    """Captures and drains killed at random moments, and transcripts of many gigabytes."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak throughline", description=throughline.__doc__
    )
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="kills of each")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument(
        "--gigabytes", type=float, default=5, metavar="N", help="of one line, and of many; 0: none"
    )
    chosen = parser.parse_args(options)
    chance = random.Random(chosen.seed)  # noqa: S311 - only chooses the moment
    found: Counter[str] = Counter()
    for kill in (kill_captures, kill_drains):
        with tempfile.TemporaryDirectory() as folder:
            found += kill(Path(folder), chosen.runs, chance)
    for state, times in sorted(found.items()):
        print(f"{times:6} kills left {state}", flush=True)
    for in_one_line in (True, False) if chosen.gigabytes else ():
        with tempfile.TemporaryDirectory() as folder:
            taken = capture_endless(Path(folder), chosen.gigabytes, in_one_line=in_one_line)
        shape = "one line" if in_one_line else "many lines"
        print(
            f"{chosen.gigabytes} GB in {shape}: {taken.seconds:.0f} s,"
            f" {taken.peak_kib >> 10} MiB\n{taken.told}",
            end="",
        )
        assert taken.peak_kib < MOST_KIB, f"{taken.peak_kib} KiB of memory"
    return 0


def crash(options: Sequence[str]) -> int:
    """Power cuts, failing calls of the disk and killed daemons, in every piece of work in turn.

    Each fault is told with the line that shows it again; 1 when there was any.
    """
    parser = argparse.ArgumentParser(prog="scripts/soak crash", description=crash.__doc__)
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="begin none after")
    parser.add_argument("--seed", type=int, default=1, help="the first; each round takes one more")
    parser.add_argument("--only", choices=long_run.KINDS, help="one kind of crash")
    parser.add_argument("--work", choices=tuple(WORK), help="one piece of work")
    parser.add_argument("--failure", choices=tuple(FAILURES), help="one way of a call to fail")
    parser.add_argument("--number", type=int, metavar="N", help="one cut or call: no rounds")
    chosen = vars(parser.parse_args(options))
    until = time.monotonic() + 60 * chosen.pop("minutes")
    found, faults = long_run.run(long_run.Wanted(**chosen), until)
    for what, times in sorted(found.items()):
        print(f"{times:6} {what}")
    print(f"{len(faults)} faults, from seed {chosen['seed']}")
    return int(bool(faults))


SOAKS: dict[str, Callable[[Sequence[str]], int]] = {
    "backfill": backfill,
    "crash": crash,
    "lifecycle": lifecycle,
    "migration": migration,
    "publish": publish,
    "throughline": throughline,
    "transfer": transfer,
}
