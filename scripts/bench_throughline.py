"""Captured sessions: how long capture, drain and search take, against the least possible."""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench_place import Place
from bench_table import Line
from bench_timing import paired_ratio, percentile, time_process

from mash_plugin.throughline import queue
from mash_plugin.throughline.artifacts import KeyLine as Kept
from mash_plugin.throughline.artifacts import Source, Span, key_line_artifacts, session_summary
from mash_plugin.throughline.drain import drain as drain_queue
from mash_plugin.throughline.entries import Entry
from mash_plugin.throughline.settings import Settings, read_settings
from mash_plugin.throughline.store import open_database, store_capture
from mash_plugin.throughline.tools import SEARCH, call_tool
from mash_plugin.throughline.tools import Place as MemoryPlace

MEGABYTES = 100
CAPTURES, ON_POSTGRES, ROWS = 10_000, 1_000, 100_000
AGENT, NOW = "bench-bot", 1_796_000_000_000
PARSE = "import orjson, sys\nwith open(sys.argv[1],'rb') as f:\n for l in f: orjson.loads(l)"
WITH_CLICK = "import click"
SAID = (
    "Looked at {0} and {1}.",
    "I'll check {0} with {1} tomorrow.",
    "Decided to keep {0} beside {1}.",
)


def capture(place: Place, rounds: int) -> Iterator[Line]:
    """A long transcript against parsing it, a short one against the start of Python with click."""
    folder = place.root / "capture"
    folder.mkdir()
    long, short = folder / "long.jsonl", folder / "short.jsonl"
    count = _write_transcript(long, MEGABYTES * 1_000_000)
    _write_transcript(short, 10**9, 1_000)
    peaks: list[float] = []

    def captured(file: Path, number: int) -> float:
        options = ["--session-id", f"{file.stem}-{number}", "--transcript", str(file)]
        seconds, peak = _run(place, "capture-session", *_SOURCE, *options, *_where(folder))
        peaks.append(peak)
        return seconds

    parse = [place.python, "-c", PARSE, str(long)]
    some = max(3, rounds // 20)
    ratio = paired_ratio(
        some, lambda _: time_process(parse, b"", place.env)[0], lambda n: captured(long, n)
    )
    yield Line(f"capture of {MEGABYTES} MB / parsing it", ratio, "x", 3, f"{count} messages")
    yield Line("  memory", max(peaks), "MB", 64)
    bare = [place.python, "-c", WITH_CLICK]
    ratio = paired_ratio(
        rounds, lambda _: time_process(bare, b"", place.env)[0], lambda n: captured(short, n)
    )
    yield Line("capture of 1,000 lines / Python with click", ratio, "x", 3)


def drain(place: Place, rounds: int) -> Iterator[Line]:
    """An empty drain against --version, and how fast captures come into each backend."""
    folder = place.root / "drain"
    folder.mkdir()
    empty = ("consolidate", "--agent-id", AGENT, "--drain-only", *_where(folder))
    ratio = paired_ratio(
        rounds, lambda _: _run(place, "--version")[0], lambda _: _run(place, *empty)[0]
    )
    yield Line("empty drain / meaning-memory --version", ratio, "x", 1.5)
    yield Line(
        "drain, file", _drained(read_settings(str(folder), None, {}), CAPTURES), "1/s", least=2_000
    )
    yield from _drain_on_postgres(place.root / "drain-postgres")


def _drain_on_postgres(folder: Path) -> Iterator[Line]:
    try:
        from tests.support.postgres import running_server
    except ImportError:
        return
    with running_server() as server:
        server.use(folder, AGENT)
        settings = read_settings(str(folder), None, {"MM_BACKEND": "postgres"})
        yield Line("drain, Postgres", _drained(settings, ON_POSTGRES), "1/s", note="without fsync")


def working(place: Place, rounds: int) -> Iterator[Line]:
    """Working searches over many rows, opening the store each time as a tool call does."""
    folder = place.root / "working"
    folder.mkdir()
    settings = read_settings(str(folder), None, {})
    db = open_database(settings, to_write=True)
    for start in range(0, ROWS // 5, 1_000):
        with db.transaction():
            for entry in _entries(start, start + 1_000):
                store_capture(db, entry)
    db.close()
    chance, words = random.Random(5), _words()  # noqa: S311 - repeatable
    place_of = MemoryPlace(AGENT, settings, NOW)
    times = []
    for _ in range(max(rounds, 20) * 10):
        query = " ".join(chance.sample(words, chance.randint(1, 2)))
        begin = time.perf_counter()
        call_tool(SEARCH, {"query": query, "memory_stage": "working"}, place_of)
        times.append((time.perf_counter() - begin) * 1000)
    note = f"{ROWS} rows, median {median(times):.1f} ms"
    yield Line("working search, p99", percentile(times, 0.99), "ms", 20, note)


_SOURCE = ("--agent", AGENT, "--channel", "telegram:dm", "--source-kind", "chat")


def _where(folder: Path) -> tuple[str, str]:
    return "--config-dir", str(folder)


def _run(place: Place, *words: str) -> tuple[float, float]:
    """Wall seconds and peak megabytes of one command."""
    command = [place.python, "-m", "mash_plugin.cli.meaning_memory", *words]
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, place.env, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return seconds, usage.ru_maxrss / 1024


def _drained(settings: Settings, captures: int) -> float:
    """Artifacts a second."""
    Path(settings.workspace).mkdir(exist_ok=True)
    for entry in _entries(0, captures):
        queue.put(settings.workspace, entry)
    begin = time.perf_counter()
    done = drain_queue(settings, AGENT, NOW)
    return done.drained / (time.perf_counter() - begin)


def _entries(first: int, after: int) -> Iterator[Entry]:
    """Captures of five artifacts each."""
    chance, words = random.Random(first), _words()  # noqa: S311 - repeatable
    for number in range(first, after):
        source = Source(AGENT, f"s-{number}", "telegram:dm", "chat")
        at = NOW + number * 1_000
        lines = [
            Kept(m, 0, "decision", f"Decided {' '.join(chance.sample(words, 12))}.", at + m)
            for m in range(4)
        ]
        summary = session_summary(source, 9, 4, Span(at, at + 9))
        yield Entry(
            agent=AGENT,
            queued_at=at,
            session=source.session,
            channel=source.channel,
            source_kind=source.kind,
            stage="working",
            status=None,
            replaces_session=True,
            artifacts=(summary, *key_line_artifacts(lines)),
        )


def _write_transcript(file: Path, most_bytes: int, most_lines: int = sys.maxsize) -> int:
    """A session as agents have them: mostly tools' output and plain statements."""
    chance, words = random.Random(3), _words()  # noqa: S311 - repeatable
    count = size = 0
    with file.open("w", encoding="utf-8") as out:
        while size < most_bytes and count < most_lines:
            role = ("user", "assistant", "tool", "assistant")[count % 4]
            text = " ".join(chance.choices(words, k=chance.choice((8, 30, 120))))
            if role == "assistant" and count % 40 == 1:
                text = chance.choice(SAID).format(*chance.sample(words, 2))
            row = {"role": role, "content": text, "ts": f"2026-11-{count % 28 + 1:02}T10:00:00Z"}
            size += out.write(json.dumps(row) + "\n")
            count += 1
    return count


def _words() -> list[str]:
    chance = random.Random(1)  # noqa: S311 - repeatable
    letters = "abcdefghijklmnoprstuvw"
    return ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(4_000)]
