"""How recall, lists, saving and chat search grow with what is stored, and by which power."""

import math
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench_chats import chinese_queries, english_queries
from bench_data import Words, typed_line
from bench_place import IDENTITY, Place, paths_at
from bench_recall import change_a_record
from bench_saving import SESSION, WORDS, change
from bench_table import NOT_MEASURED, Line
from bench_timing import percentile

from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.search import search_chats
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call
from mash_plugin.memory.reading import list_records
from mash_plugin.memory.recall import recall_records
from mash_plugin.memory.record import apply_change
from mash_plugin.memory.windows import Windows
from mash_plugin.protocol import validate
from mash_plugin.records.model import Scope
from mash_plugin.store.open import open_chats, open_store

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCOPE = {"kind": "repository", "identity": IDENTITY}
SCOPES = [Scope("repository", f"{IDENTITY}-{number}") for number in range(50)]
SCOPES += [Scope("repository", IDENTITY)] * 50
"""Half of all records are in the scope that is asked."""
QUERIES = ("invoice cache timeout", "we keep the payment queue", "ledger", "src/ledger.py rounding")
LINES_A_SESSION, TEXTS = 200, 20_000
TALK_IN = Path("/home/dev/talk")
Kind = tuple[str, Callable[[int], object]]


class Figure(NamedTuple):
    """Milliseconds of one kind of call at one size."""

    size: int
    p50: float
    p99: float


def growth(place: Place, rounds: int) -> Iterator[Line]:
    """Every kind of call at each size, then the power of the size that fits its medians best.

    Half of all records are in the one scope that is asked, the others in fifty more. Recall looks
    at the newest 256 of a scope that are in force, which bounds it; right after a save it finds
    none of them kept in memory. A list is its first fifty. A save cites a message of the person,
    which is looked up.
    """
    calls = max(rounds, 20) * 5
    yield from of_records(place, calls)
    yield from of_chats(place, calls)


def of_records(place: Place, calls: int) -> Iterator[Line]:
    """Calls on records, in one store that grows."""
    home = paths_at(place.root / "growth-records")
    talk = place.root / "growth-cited"
    write_session(talk, SESSION, [WORDS], place.project)
    store, chats = open_store(home, place.now), open_chats(home)
    index = ChatIndex(chats, lambda: [("claude-code", str(talk))])
    call = Call(store, index, Settings(), place.now, lambda: uuid.uuid4().hex, Windows())

    def first_recall(number: int) -> object:
        change_a_record(store)  # no window that is kept holds
        return recall(number)

    def recall(number: int) -> object:
        asked = {"scope": SCOPE, "query": QUERIES[number % len(QUERIES)]}
        return recall_records(call, validate("recall_records", asked))["records"]

    def listed(_number: int) -> object:
        return list_records(call, validate("list_records", {"scope": SCOPE, "limit": 50}))

    def save(number: int) -> object:
        return apply_change(call, validate("record", change(number, f"{saved} saves")))

    stored = saved = 0
    kinds: list[Kind] = [
        ("recall", recall),
        ("recall after a save", first_recall),
        ("list", listed),
        ("save", save),
    ]
    figures: dict[str, list[Figure]] = {name: [] for name, _ in kinds}
    for size in place.sizes(SIZES):
        place.fill_store(store, SCOPES, size - stored, stored)
        stored, saved = size, size
        for name, run in kinds:
            figures[name].append(timed(size, calls, run))
            yield from lines(name, "records", figures[name][-1])
    for name, of_sizes in figures.items():
        yield exponent_line(name, of_sizes)
    store.close()
    chats.close()


def of_chats(place: Place, calls: int) -> Iterator[Line]:
    """Chat search in one index that grows, in English and in Chinese."""
    talk = place.root / "growth-talk"
    chats = open_chats(paths_at(place.root / "growth-chats"))
    index = ChatIndex(chats, lambda: [("claude-code", str(talk))])
    queries = [q for pair in zip(english_queries(), chinese_queries(), strict=True) for q in pair]

    def search(number: int) -> object:
        with chats.reading() as db:
            return search_chats(db, queries[number % len(queries)])

    stored, figures = 0, []
    for size in place.sizes(SIZES):
        write_messages(talk, stored, size)
        index.refresh_all(place.now)
        stored = size
        figures.append(timed(size, calls, search))
        yield from lines("chat search", "messages", figures[-1])
    chats.close()
    yield exponent_line("chat search", figures)


def write_messages(talk: Path, first: int, after: int) -> None:
    """Prompts in sessions of 200, one in eight of them in Chinese; texts differ by a number."""
    words = Words(random.Random(7))  # noqa: S311 - repeatable data
    count = min(TEXTS, after - first) // LINES_A_SESSION or 1
    plain = [[words.prose(160) for _ in range(LINES_A_SESSION)] for _ in range(count)]
    chinese = [words.chinese(160) for _ in range(LINES_A_SESSION)]
    for start in range(first, after, LINES_A_SESSION):
        number = start // LINES_A_SESSION
        texts = plain[number % count] if number % 8 else chinese
        session = str(uuid.UUID(int=1_000_000 + start, version=4))
        write_session(talk, session, [f"{text} ({start})" for text in texts])


def write_session(talk: Path, session: str, texts: Sequence[str], cwd: Path = TALK_IN) -> None:
    """One transcript of nothing but prompts."""
    folder = talk / "projects" / "talk"
    folder.mkdir(parents=True, exist_ok=True)
    typed = (typed_line(session, str(cwd), text, n) for n, text in enumerate(texts))
    (folder / f"{session}.jsonl").write_bytes(b"".join(typed))


def timed(size: int, calls: int, run: Callable[[int], object]) -> Figure:
    """Milliseconds of so many calls, the first few left out."""
    times = []
    for number in range(calls + calls // 10):
        begin = time.perf_counter()
        assert run(number) is not None
        times.append((time.perf_counter() - begin) * 1000)
    times = times[calls // 10 :]
    return Figure(size, percentile(times, 0.5), percentile(times, 0.99))


def lines(name: str, of: str, figure: Figure) -> Iterator[Line]:
    """The median and the slowest in a hundred, each drawn in the plot of growth."""
    for part, value in (("p50", figure.p50), ("p99", figure.p99)):
        what = f"{name}, {figure.size:,} {of}, {part}"
        yield Line(what, value, "ms", key=f"growth/{name}/{part}/{figure.size}")


def exponent_line(name: str, figures: Sequence[Figure]) -> Line:
    """What power of the size the medians follow, and how well."""
    fit = fitted_exponent([(figure.size, figure.p50) for figure in figures])
    note = "0: the same at every size, 1: twice as much takes twice as long"
    return Line(f"{name}, exponent of growth", fit, "", note=note, key=f"exponent/{name}")


def fitted_exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line of least squares through the logarithms of these points."""
    if len(points) < 2:
        return NOT_MEASURED
    xs, ys = ([math.log(point[axis]) for point in points] for axis in (0, 1))
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    over = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return over / sum((x - mean_x) ** 2 for x in xs)
