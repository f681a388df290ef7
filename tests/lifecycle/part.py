"""A share of the runs in a process of its own: `python -m tests.lifecycle.part KIND RUNS SEED`.

Prints one JSON object; a bad run is told on standard error, with every step that led to it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.lifecycle.pure import Rules
from tests.lifecycle.runs import run_lives
from tests.lifecycle.served import Serving
from tests.support.daemons import Place

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")
"""Faster than a disk; what survives a crash is proven elsewhere."""
ROOM = 1 << 30


class Part(NamedTuple):
    """What came of a share."""

    runs: int
    steps: int
    taken: Counter[str]


def main(kind: str, runs: str, seed: str) -> None:
    """Run one share and print its counts."""
    if kind == "pure":
        world = run_lives(lambda _: Rules(), int(runs), int(seed))
    else:
        with tempfile.TemporaryDirectory(prefix="lives-", dir=_fast_folder()) as folder:
            place = Place(Path(folder))
            try:
                world = run_lives(Serving(place).begin, int(runs), int(seed), shrink=False)
            finally:
                place.close()
    told = {"runs": world.runs, "steps": world.steps, "taken": world.taken}
    sys.stdout.write(json.dumps(told))


def run_parts(kind: str, runs: int, seeds: Sequence[int], timeout_s: float) -> Part:
    """The runs divided among a process for each seed. Raises what one of them said."""
    share = -(-runs // len(seeds))
    command = [sys.executable, "-m", "tests.lifecycle.part", kind, str(share)]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([*command, str(seed)], cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
        for seed in seeds
    ]
    total = Part(0, 0, Counter())
    try:
        for process in processes:
            out, err = process.communicate(timeout=timeout_s)
            assert process.returncode == 0, err
            told = json.loads(out)
            taken = total.taken + Counter(told["taken"])
            total = Part(total.runs + told["runs"], total.steps + told["steps"], taken)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return total


def _fast_folder() -> Path | None:
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        return MEMORY
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
