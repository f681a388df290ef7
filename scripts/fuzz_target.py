"""Fuzz one target in this process, which ends with the first input that breaks a promise.

usage: fuzz_target.py TARGET shapes|bytes|chance SECONDS SEED HOME PLACE
"""

import faulthandler
import hashlib
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

LONGEST_INPUT = 1 << 16
LONGEST_S = 120
"""For one input, the first of which import what they need: a slower one is told as a fault."""
LATE_S = 240
"""Over its time, after which it is told where this process is."""
MOST_MB = 3_000
REOPEN_AFTER = 4_000
"""Executions: a place that fills up makes them slower and slower."""
SEEDS = 300
"""Inputs of the real shape that a run on bytes begins with, besides those that are kept."""


class Fuzzed:
    """A target whose place is made anew now and then, and which keeps what it fails on."""

    def __init__(self, name: str, home: Path, place: Path) -> None:
        from tests.fuzz.targets import TARGETS

        self.target = TARGETS[name]
        self.executions = 0
        self._home = home
        self._found = place / "found" / name
        self._stack = ExitStack()
        self._check: Callable[[bytes], None] | None = None

    def __call__(self, data: bytes) -> None:
        if self._check is None or self.executions % REOPEN_AFTER == 0:
            self._check = self._opened()
        self.executions += 1
        try:
            self._check(data)
        except BaseException:
            self._found.mkdir(parents=True, exist_ok=True)
            name = hashlib.sha256(data).hexdigest()[:16]
            (self._found / name).write_bytes(data)
            print(f"number_of_executed_units: {self.executions}", file=sys.stderr)
            traceback.print_exc()
            raise

    def _opened(self) -> Callable[[bytes], None]:
        self._stack.close()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(dir=self._home))
        return self._stack.enter_context(self.target.opened(Path(folder)))


def by_chance(fuzzed: Fuzzed, seconds: int, first: int) -> None:
    """Inputs of the real shape, drawn anew until the time is over."""
    until = time.monotonic() + seconds
    number = first
    while time.monotonic() < until:
        seed(number)(drawn(fuzzed, 500))()
        number += 1
    print(f"number_of_executed_units: {fuzzed.executions}")


def drawn(fuzzed: Fuzzed, examples: int) -> Callable[[], None]:
    """A test of hypothesis over the target's own inputs."""

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzzed.target.inputs)
    def run(data: bytes) -> None:
        fuzzed(data)

    return run


def by_coverage(fuzzed: Fuzzed, way: str, seconds: int, number: int, corpus: Path) -> None:
    """Inputs that are led to code which no input has reached; does not return."""
    import atheris

    corpus.mkdir(parents=True, exist_ok=True)
    if way == "bytes":
        write_seeds(fuzzed, corpus, number)
        once: Callable[[bytes], object] = fuzzed
    else:
        once = drawn(fuzzed, 1).hypothesis.fuzz_one_input  # type: ignore[attr-defined]
    options = [
        f"-max_total_time={seconds}",
        f"-seed={number}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={LONGEST_S}",
        f"-rss_limit_mb={MOST_MB}",
        f"-artifact_prefix={corpus.parent}/",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda data: once(data) and None)
    atheris.Fuzz()


def write_seeds(fuzzed: Fuzzed, corpus: Path, number: int) -> None:
    """Let a run begin with the kept inputs and with some of the real shape."""
    from tests.fuzz.target import kept_inputs

    inputs = [path.read_bytes() for path in kept_inputs(corpus.name)]

    @seed(number)
    @settings(
        max_examples=SEEDS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzzed.target.inputs)
    def draw(data: bytes) -> None:
        inputs.append(data)

    draw()
    for data in inputs:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def main(name: str, way: str, seconds: str, number: str, home: str, place: str) -> None:
    """Fuzz the target in that way."""
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(int(seconds) + LATE_S)
    if way == "chance":
        by_chance(Fuzzed(name, Path(home), Path(place)), int(seconds), int(number))
        return
    import atheris

    with atheris.instrument_imports(include=["mash_plugin"]):
        fuzzed = Fuzzed(name, Path(home), Path(place))
        by_coverage(fuzzed, way, int(seconds), int(number), Path(place) / way / name)


if __name__ == "__main__":
    main(*sys.argv[1:])
