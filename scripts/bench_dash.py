"""The dashboard: how soon it is there, and how soon its first page is."""

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench_place import IDENTITY, Place
from bench_table import Line
from bench_timing import paired_ratio

from mash_plugin.paths import find_paths
from mash_plugin.records.model import Scope

SMALL = 200
LIBRARIES = "import uvicorn.protocols.http.h11_impl, starlette.routing, jinja2"
ALL_OF_IT = "import starlette.applications"
FILTERS = (
    *("kind=decision", "kind=fact", "state=withdrawn", "review=candidate", "by=agent"),
    *("stale=1", "conflicted=1", f"scope=repository:{IDENTITY}"),
)
MOST_MS, MOST_KB = 50, 100
Environment = Mapping[str, str]


class Dash(NamedTuple):
    """A running `mash dash` with the cookie of its one browser."""

    connection: HTTPConnection
    root: str
    cookie: str

    def get(self, path: str, title: str = "Memory") -> tuple[float, int]:
        """Milliseconds to the first byte, and the bytes of the page."""
        began = time.perf_counter()
        self.connection.request("GET", self.root + path, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        body = answer.read(1)
        took = (time.perf_counter() - began) * 1000
        body += answer.read()
        self.connection.close()  # one that is silent for long would be closed at any moment
        assert (answer.status, f"<h1>{title}".encode() in body) == (200, True), (path, body[:500])
        return took, len(body)


def dash(place: Place, rounds: int) -> Iterator[Line]:
    """Its start against the bare interpreter's; its first page over many records."""
    with home(place, "dash-small", SMALL, 4) as environment:
        yield from ready(place, environment, max(rounds // 4, 5))
        with running(place, environment) as (address, process):
            small = first_visits(place, environment, opened(address), process.pid)
    for count, scopes, note in (
        (100_000, 100, "100 scopes"),
        (200_000, 200, "half of them in one scope"),
    ):
        with home(place, f"dash-{count}", count, scopes) as environment:
            yield from first_bytes(place, environment, f"{count:,} records", note, small)


def ready(place: Place, environment: Environment, rounds: int) -> Iterator[Line]:
    """Until the address is printed, the socket listening; and until the first page is answered."""

    def imported(code: str, _number: int) -> float:
        begin = time.perf_counter()
        command = [place.python, "-c", code]
        subprocess.run(command, env=environment, cwd=place.root, check=True)
        return time.perf_counter() - begin

    def started(what: int, _number: int) -> float:
        begin = time.perf_counter()
        with running(place, environment) as (address, _):
            printed = time.perf_counter() - begin
            if what:
                opened(address).get("/memory")
            return time.perf_counter() - begin if what else printed

    bare, whole = partial(imported, "import starlette"), partial(imported, ALL_OF_IT)
    printed, answered = partial(started, 0), partial(started, 1)
    libraries = partial(imported, LIBRARIES)
    ratio = partial(paired_ratio, rounds)
    yield Line("dash, listening and told / `import starlette`", ratio(bare, printed), "x", 5)
    floor = ratio(bare, libraries)
    note = f"uvicorn, h11, starlette.routing and jinja2 alone: {floor:.1f}x"
    yield Line("dash, first page / `import starlette`", ratio(bare, answered), "x", note=note)
    yield Line("dash, first page / its libraries alone", ratio(libraries, answered), "x", 2)
    yield Line("dash, first page / `import starlette.applications`", ratio(whole, answered), "x", 5)


class Visits(NamedTuple):
    """Milliseconds to the first byte, after the daemon's start and once it has answered a call."""

    cold: float
    first: float
    worked: float
    """Milliseconds of processor time that the first page took, here and in the daemon."""
    size: int


def first_visits(place: Place, environment: Environment, browser: Dash, pid: int) -> Visits:
    """The first page of the list from a new daemon."""
    browser.get("/memory")
    cold, first, worked, sizes = [], [], [], [0]
    for number in range(6):
        mash(place, environment, "daemon", "restart")
        if number % 2:
            cold.append(browser.get("/memory")[0])
            continue
        browser.get("/chats", "Chats")  # what checks any request is read in by now
        told = mash(place, environment, "daemon", "status", "--json")
        pids = (pid, int(json.loads(told)["pid"]))
        before = sum(map(worked_ms, pids))
        took, size = browser.get("/memory")
        worked.append(sum(map(worked_ms, pids)) - before)
        first.append(took)
        sizes.append(size)
    return Visits(median(cold), median(first), median(worked), max(sizes))


def worked_ms(pid: int) -> float:
    """Milliseconds of processor time of a process so far."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e6


def first_bytes(
    place: Place, environment: Environment, of: str, note: str, small: Visits
) -> Iterator[Line]:
    """Of the first visit after the daemon's start, of later ones, and under each filter."""
    with running(place, environment) as (address, process):
        browser = opened(address)
        visits = first_visits(place, environment, browser, process.pid)
        line = f"Memory page, {of}, first byte"
        yield Line(f"{line}, first visit", visits.first, "ms", None, note)
        yield Line(f"{line}, its processor time", visits.worked, "ms", MOST_MS)
        told = f"{visits.cold:.0f} / {small.cold:.0f} ms"
        ratio = visits.cold / small.cold
        yield Line(f"{line}, new daemon / {SMALL} records", ratio, "x", 1.5, told)
        warm = median(browser.get("/memory")[0] for _ in range(9))
        yield Line(f"{line}, later", warm, "ms")
        filtered = {query: browser.get(f"/memory?{query}") for query in FILTERS}
        slowest = max(filtered, key=lambda query: filtered[query][0])
        yield Line(f"{line}, any filter", filtered[slowest][0], "ms", None, slowest)
        words = [browser.get(f"/memory?q={word}") for word in ("invoice", "ledger+cache", "zzz")]
        yield Line(f"{line}, words", max(took for took, _ in words), "ms", None, "looked for first")
        heaviest = max(size for _, size in [*filtered.values(), *words])
        yield Line(f"Memory page, {of}, weight", max(visits.size, heaviest) / 1000, "kB", MOST_KB)


@contextmanager
def home(place: Place, name: str, count: int, scopes: int) -> Iterator[Environment]:
    """The environment of a home with records and a daemon; every second scope is the same one."""
    folder = place.root / name
    (folder / "data").mkdir(parents=True, mode=0o700)
    environment = {**place.env, "MASH_HOME": str(folder)}
    large = Scope("repository", IDENTITY)
    others = [Scope("repository", f"{IDENTITY}-{number}") for number in range(scopes // 2)]
    place.fill_records(find_paths(environment), [large, *others] + [large] * len(others), count)
    mash(place, environment, "daemon", "start")
    try:
        yield environment
    finally:
        mash(place, environment, "daemon", "stop")


def mash(place: Place, environment: Environment, *words: str) -> bytes:
    command = [place.python, "-m", "mash_plugin", *words]
    done = subprocess.run(command, env=environment, cwd=place.root, check=True, capture_output=True)
    return done.stdout


@contextmanager
def running(
    place: Place, environment: Environment
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`mash dash` with the address that it printed, until the block ends."""
    command = [place.python, "-m", "mash_plugin", "dash", "--no-open"]
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=place.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.terminate()


def opened(address: str) -> Dash:
    """The dashboard entered as a browser enters it."""
    found = re.fullmatch(r"http://([^/]+)(/[^/]+)(/\?token=.+)", address)
    assert found, address
    connection = HTTPConnection(found[1], timeout=60)
    connection.request("GET", found[2] + found[3])
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.headers["set-cookie"] or "").partition(";")[0]
    return Dash(connection, found[2], cookie)
