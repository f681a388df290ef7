"""Work whose power goes at any moment: recorded once, then cut wherever a number says."""

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.crash.disk import Journal, Synced
from tests.crash.watched import watched
from tests.crash.workloads import State, Workload
from tests.support.in_memory import place_beside


class Fault(AssertionError):
    """What a crash left is not what may be there; tells how to see it again."""


class Recorded(NamedTuple):
    """Work that was done once, undisturbed."""

    work: Workload
    journal: Journal
    began: list[int]
    ends: list[int]
    """How many operations the disk was told before each step, and when it was acknowledged."""
    states: list[State]
    """What is there before the first step and after each."""
    calls: dict[str, int]
    """How often undisturbed work comes to each call of the disk, as far as that was counted."""


def record(work: Workload) -> Recorded:
    """Do the work on a watched disk; the state after each step is that after a kill."""
    work.prepare()
    journal = Journal(work.root)
    began, ends = [0], []
    with watched(work.root, journal=journal):
        for _ in work.run():
            ends.append(len(journal))
            began.append(len(journal))
    states = []
    for done, cut in enumerate([0, *ends]):
        journal.lay(journal.image(cut, None))
        states.append(work.look(done))
    return Recorded(work, journal, began, ends, states, {})


def cut(recorded: Recorded, seed: int, numbers: Iterable[int]) -> Counter[str]:
    """Let the power go once for each number; how often what was left of the step it hit.

    The seed and the number say where and how. Raises Fault with both.
    """
    found: Counter[str] = Counter()
    for number in numbers:
        chance = random.Random(f"{seed}/{number}")  # noqa: S311 - to be had again
        at = _moment(recorded, chance)
        recorded.journal.lay(recorded.journal.image(at, chance))
        try:
            found[_judge(recorded, at)] += 1
        except Exception as error:
            again = f"--only power --work {recorded.work.name} --seed {seed} --number {number}"
            raise Fault(f"scripts/soak crash {again}\nafter {at} operations: {error}") from error
    return found


def _moment(recorded: Recorded, chance: random.Random) -> int:
    """Anywhere; just after something was acknowledged; just after something became safe."""
    operations = recorded.journal.operations
    match chance.randrange(3):
        case 0:
            return chance.randrange(len(operations) + 1)
        case 1:
            return min(len(operations), chance.choice(recorded.ends) + chance.randrange(3))
        case _:
            return 1 + chance.choice([n for n, o in enumerate(operations) if isinstance(o, Synced)])


def _judge(recorded: Recorded, at: int) -> str:
    """Compare what was left with what may be there, and go on with it to the end."""
    work, states = recorded.work, recorded.states
    done = sum(end <= at for end in recorded.ends)
    state = work.look(done)
    there = "nothing"
    if work.is_atomic:
        may_be = states[done : done + 2] if at > recorded.began[done] else states[done : done + 1]
        for part, value in state.items():
            lags = part in work.lagging
            allowed = states[: done + 2] if lags else may_be
            assert any(value == s[part] for s in allowed), f"{part}: {told(value, may_be, part)}"
            if not lags and value != states[done][part]:
                there = "all"
    work.finish()
    final = work.look(len(recorded.ends))
    for part, value in final.items():
        assert value == states[-1][part], f"gone on with, {part}: {told(value, states[-1:], part)}"
    return f"{there} of its step"


def told(found: object, allowed: list[State], part: str) -> str:
    """Where a state differs from the first that may be, in short."""
    wanted = allowed[0][part]
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        found, wanted = {part: found}, {part: wanted}
    lines = []
    for key in found.keys() | wanted.keys():
        here, there = found.get(key), wanted.get(key)
        if here != there and isinstance(here, list) and isinstance(there, list):
            here = [row for row in here if row not in there]
            there = [row for row in wanted[key] if row not in found[key]]
        if here != there:
            lines.append(f"{key}: {here!r:.700} instead of {there!r:.700}")
    return "\n".join(lines)


@contextmanager
def a_place(beside: Path) -> Iterator[Path]:
    """A new folder, gone at the end; in memory where there is such a place.

    What the harness loses it loses itself: no disk needs to be under it.
    """
    folder = Path(tempfile.mkdtemp(prefix="crash-", dir=place_beside(beside)))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
