"""The index of chats: how fast it is made, added to and searched."""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import orjson
from bench_data import Words, typed_line, write_long_transcript
from bench_place import Place, paths_at
from bench_table import Line
from bench_timing import percentile, resident_mb

from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.search import search_chats
from mash_plugin.store.open import open_chats


def index(place: Place, _rounds: int) -> Iterator[Line]:
    """The first index against parsing every line of the same files; then the daemon's memory."""
    files = place.transcripts
    ratios, report = [], None
    for number in range(3):
        begin = time.perf_counter()
        lines = parse_lines(files)
        middle = time.perf_counter()
        paths = paths_at(place.root / f"index{number}")
        chats = open_chats(paths)
        roots = [("claude-code", place.env["CLAUDE_CONFIG_DIR"])]
        report = ChatIndex(chats, lambda roots=roots: roots).refresh_all(place.now)
        ratios.append((time.perf_counter() - middle) / (middle - begin))
        with chats.reading() as db:
            stored = db.one("SELECT count(*) FROM messages")
        chats.close()
        shutil.rmtree(paths.home)
    assert report is not None
    size = sum(file.stat().st_size for file in files) / 1e6
    note = (
        f"{size:.0f} MB, {lines} lines, {stored[0] if stored else 0} messages;"
        f" {report.bytes_skipped / 1e6:.1f} MB of tool output kept short,"
        f" {report.lines_skipped} lines skipped"
    )
    what = "first index / orjson.loads of every line"
    yield Line(what, median(ratios), "x", 4, note, key="short/index")
    pid = place.filled.start_daemon()
    yield Line("daemon after that index, resident", resident_mb(pid), "MB", 80, key="short/memory")


def parse_lines(files: list[Path]) -> int:
    count = 0
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                orjson.loads(line)
                count += 1
    return count


def append(place: Place, rounds: int) -> Iterator[Line]:
    """The work for one new line at the end of one long transcript."""
    root = place.root / "long"
    session = write_long_transcript(root, place.megabytes * 1_000_000)
    [file] = root.rglob("*.jsonl")
    chats = open_chats(paths_at(place.root / "append"))
    chat_index = ChatIndex(chats, lambda: [("claude-code", str(root))])
    chat_index.refresh_all(place.now)
    times = []
    for number in range(min(rounds, 20)):
        with file.open("ab") as end:
            end.write(typed_line(session, "/home/dev/long", f"One line more, {number}.", number))
        begin = time.perf_counter()
        chat_index.refresh_path("claude-code", str(file), place.now)
        times.append((time.perf_counter() - begin) * 1000)
    chats.close()
    size = file.stat().st_size / 1e6
    yield Line(f"index one line more of {size:.0f} MB, median", median(times), "ms", 50)


def search(place: Place, rounds: int) -> Iterator[Line]:
    """Chat search over the index of the timed run, in two languages."""
    place.busy.stop_daemon()
    chats = open_chats(place.paths)
    queries = {"English": english_queries(), "Chinese": chinese_queries()}
    for language, texts in queries.items():
        times, found = [], 0
        for number in range(max(rounds, 20) * 10):
            begin = time.perf_counter()
            with chats.reading() as db:
                hits, _ = search_chats(db, texts[number % len(texts)])
            times.append((time.perf_counter() - begin) * 1000)
            found += bool(hits)
        with chats.reading() as db:
            row = db.one("SELECT count(*) FROM messages")
        note = f"{row[0] if row else 0} messages, {found} of {len(times)} found something"
        yield Line(f"chat search in {language}, p99", percentile(times, 0.99), "ms", 50, note)
    chats.close()


def english_queries() -> list[str]:
    """One to three words, frequent and rare, a name, a path."""
    words = Words(random.Random(1))  # noqa: S311 - as the transcripts were made
    picks = random.Random(3)  # noqa: S311 - repeatable
    plain = [
        " ".join(picks.sample(words.vocabulary[:3_000], k=picks.randint(1, 3))) for _ in range(80)
    ]
    return plain + picks.sample(words.names, 10) + picks.sample(words.paths, 10)


def chinese_queries() -> list[str]:
    """Two to four characters that stand together somewhere, one or two such pieces."""
    words = Words(random.Random(7))  # noqa: S311 - as the chats were made
    picks = random.Random(3)  # noqa: S311 - repeatable
    queries = []
    for _ in range(100):
        text = words.chinese(160)
        starts = picks.sample(range(12), picks.randint(1, 2))
        queries.append(" ".join(text[at : at + picks.randint(2, 4)] for at in starts))
    return queries
