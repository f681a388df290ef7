"""One run of the load: what goes on beside the hooks, and the table at the end."""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench_data import typed_line, write_transcripts
from bench_place import EVENTS, Place
from bench_saving import SESSION, WORDS
from bench_table import Line
from bench_timing import percentile, resident_mb
from load_hooks import BARE_EVERY, Figures, Stream

from mash_plugin.store.open import open_store

SMALL_MEGABYTES = 1
"""Transcripts with tools among what is indexed before the load begins."""
MOST_P99_RATIO, MOST_BURST_S, MOST_GROWTH_PERCENT = 1.5, 2.0, 2.0
WRITERS = Path(__file__).parent / "load_writers.py"


class Sample(NamedTuple):
    """The daemon at one moment."""

    second: float
    is_indexing: bool
    megabytes: float
    descriptors: int


def run(options: argparse.Namespace) -> list[Line]:
    """Hold the load of these options; the lines of the table."""
    with Place(SMALL_MEGABYTES, options.records, options.messages) as place:
        _write_cited_chat(place)
        pid = place.busy.start_daemon()
        samples: list[Sample] = []
        with more_transcripts(place, options.megabytes):
            index = _begin(place, "-m", "mash_plugin", "index")
            seconds, every = str(options.seconds), str(options.write_every)
            home, count = place.env["MASH_HOME"], str(options.writers)
            writers = _begin(place, str(WRITERS), home, count, seconds, every)
            stream = Stream(place, options.sessions, options.burst)
            for second in stream.run(options.seconds, options.rate, options.burst_every):
                is_indexing = index.poll() is None
                samples.append(Sample(second, is_indexing, resident_mb(pid), _descriptors(pid)))
            saved = json.loads(writers.communicate()[0])
            index.communicate()
        same = place.start_daemon() == pid
        place.stop_daemon()
        lost = _lost(place, saved["acknowledged"])
    failures = stream.figures.failures + saved["failures"]
    failures += [] if same else ["the daemon is another one now"]
    return [*_lines(stream.figures, samples, saved), *_failed(failures, lost)]


@contextmanager
def more_transcripts(place: Place, megabytes: int) -> Iterator[None]:
    """As many transcripts more appear among the others, all at once."""
    folder = Path(tempfile.mkdtemp(dir=place.root))
    write_transcripts(folder, megabytes * 1_000_000, seed=5)
    for number, part in enumerate((folder / "projects").iterdir()):
        part.rename(place.root / "claude" / "projects" / f"more-{number}")
    yield
    shutil.rmtree(folder)


def _begin(place: Place, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [place.python, *words],
        cwd=place.root,
        env={**place.env, "PYTHONPATH": os.pathsep.join(sys.path[:2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _write_cited_chat(place: Place) -> None:
    """The words of a person that every writer cites."""
    folder = place.root / "claude" / "projects" / "cited"
    folder.mkdir(parents=True)
    line = typed_line(SESSION, str(place.project), WORDS)
    (folder / f"{SESSION}.jsonl").write_bytes(line)


def _descriptors(pid: int) -> int:
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/fd"))
    return 0


def _lost(place: Place, acknowledged: list[str]) -> list[str]:
    """Which of the acknowledged records are not in the store, once each."""
    store = open_store(place.paths, place.now)
    try:
        with store.reading() as db:
            known = {row[0] for row in db.all("SELECT record_id FROM records")}
    finally:
        store.close()
    twice = [name for name, times in Counter(acknowledged).items() if times > 1]
    return [f"{name} twice" for name in twice] + [n for n in acknowledged if n not in known]


def _lines(figures: Figures, samples: list[Sample], saved: dict[str, Any]) -> Iterator[Line]:
    bare = figures.seconds["bare"]
    for name, seconds in sorted(figures.seconds.items()):
        p50, p99 = percentile(seconds, 0.5) * 1000, percentile(seconds, 0.99) * 1000
        note = f"p50 {p50:.1f} ms, {len(seconds)} runs"
        yield Line(f"{name}, wall time, p99", p99, "ms", note=note)
    hooks = [s for name, list_ in figures.seconds.items() if name in EVENTS for s in list_]
    ratio = percentile(hooks, 0.99) / percentile(bare, 0.99)
    note = f"of medians {median(hooks) / median(bare):.2f}; the bare one once in {BARE_EVERY}"
    yield Line("hooks over the bare interpreter, p99 over p99", ratio, "x", MOST_P99_RATIO, note)
    starts = f"of {figures.starts}"
    yield Line("session starts that said nothing", figures.silent_starts, "", note=starts)
    if figures.bursts:
        note = f"{len(figures.bursts)} bursts"
        yield Line("burst, to the last answer", max(figures.bursts), "s", MOST_BURST_S, note)
    if saved["ms"]:
        note = f"p50 {percentile(saved['ms'], 0.5):.1f} ms, {len(saved['ms'])} saves"
        yield Line("record, saved and on disk, p99", percentile(saved["ms"], 0.99), "ms", note=note)
    yield from _of_daemon(samples)


def _of_daemon(samples: list[Sample]) -> Iterator[Line]:
    indexed_at = next((s.second for s in samples if not s.is_indexing), None)
    note = (
        "still indexing at the end" if indexed_at is None else f"index done at {indexed_at:.0f} s"
    )
    yield Line("daemon, most resident memory", max(s.megabytes for s in samples), "MB", note=note)
    descriptors = [s.descriptors for s in samples]
    note = f"{descriptors[0]} at the beginning, {descriptors[-1]} at the end"
    yield Line("daemon, most descriptors", max(descriptors), "", note=note)
    calm = [s.megabytes for s in samples if not s.is_indexing]
    third = len(calm) // 3
    if third:  # what the index run needed is given back or used again by then
        early, late = median(calm[third : 2 * third]), median(calm[2 * third :])
        growth = (late / early - 1) * 100
        note = f"{early:.1f} MB, then {late:.1f} MB, of {len(calm)} s without an index run"
        yield Line("daemon, growth of memory", growth, "%", MOST_GROWTH_PERCENT, note)


def _failed(failures: list[str], lost: list[str]) -> Iterator[Line]:
    note = "; ".join(f"{times} x {what}" for what, times in Counter(failures).most_common(5))
    yield Line("failures", len(failures), "", 0, note)
    yield Line("acknowledged records that are not there once", len(lost), "", 0, " ".join(lost[:5]))
