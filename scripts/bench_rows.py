"""The rows of the table, each a function that yields lines."""

import json
import os
import pkgutil
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

import orjson
from bench_dash import dash
from bench_data import Words, typed_line, write_long_transcript
from bench_group import group
from bench_place import EVENTS, IDENTITY, Place
from bench_publish import publish
from bench_saving import filled_home, saved_over_mcp, store_bytes, writes_a_second
from bench_table import Line
from bench_throughline import capture, drain, working
from bench_timing import paired_ratio, percentile, resident_mb, time_process

import mash_plugin
from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.search import search_chats
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths
from mash_plugin.records.model import Scope
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.sqlite import Database

MOST_RATIO, MOST_SHELL_RATIO = 1.25, 1.4
DEADLINES_S = {"session-start": 0.8}
OTHER_DEADLINE_S = 0.15


def hooks(place: Place, rounds: int) -> Iterator[Line]:
    """Each hook against the bare interpreter, with a real recall behind it."""
    place.busy.settled_daemon()
    for name in EVENTS:
        printed: list[bytes] = []

        def run(command: list[str], hook: str, keep: list[bytes], _number: int) -> float:
            payload = place.payload(hook)
            seconds, out = time_process(command, payload, place.env, place.project)
            keep.append(out)
            return seconds

        floor = partial(run, place.floor(), name, [])
        ratio = paired_ratio(rounds, floor, partial(run, place.hook(name), name, printed))
        note = check_printed(name, printed)
        yield Line(f"hook {name}, warm, as argv / bare interpreter", ratio, "x", MOST_RATIO, note)
        shell = ["/bin/sh", "-c", " ".join(f"'{word}'" for word in place.hook(name))]
        ratio = paired_ratio(rounds, floor, partial(run, shell, name, []))
        yield Line(
            f"hook {name}, warm, by a shell / bare interpreter", ratio, "x", MOST_SHELL_RATIO
        )


def check_printed(name: str, printed: list[bytes]) -> str:
    """What the timed runs showed; a run that was fast because it was silent does not count."""
    texts = [context_of(out) for out in printed]
    records = [text.count('"id":') for text in texts]
    chats = [text.count('"chat":') for text in texts]
    silent = sum(not text for text in texts)
    if name == "session-start" and not (min(records) and min(chats)):
        raise RuntimeError(f"a timed session start showed no record or no chat: {records} {chats}")
    return f"{median(records):g} records, {median(chats):g} chats, {silent} of {len(texts)} silent"


def context_of(out: bytes) -> str:
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out else ""


def away(place: Place, rounds: int) -> Iterator[Line]:
    """The same with the daemon absent, stopped, and with stdin left open."""
    place.busy.stop_daemon()
    bare = {**place.env, "PATH": "/nowhere", "MASH_HOME": str(place.root / "empty")}
    for name in EVENTS:
        payload = place.payload(name)
        # Neither a daemon nor a way to start one: the hook of a checkout without `mash` on PATH.
        checkout = place.hook(name)[:-1]

        def run(command: list[str], body: bytes, _number: int) -> float:
            seconds, out = time_process(command, body, bare, place.project)
            assert not out
            return seconds

        floor, absent = partial(run, place.floor(), payload), partial(run, checkout, payload)
        ratio = paired_ratio(rounds, floor, absent)
        yield Line(f"hook {name}, daemon absent / bare interpreter", ratio, "x", MOST_RATIO)
    place.start_daemon()
    for name in EVENTS:

        def held(hook: str, command: list[str], _number: int) -> float:
            body = place.payload(hook)
            return time_process(command, body, place.env, place.project, hold_stdin=True)[0]

        ratio = paired_ratio(
            rounds, partial(held, name, place.floor()), partial(held, name, place.hook(name))
        )
        yield Line(f"hook {name}, stdin left open / bare interpreter", ratio, "x", MOST_RATIO)
    with place.stopped_daemon():
        for name in EVENTS:
            runs = [
                time_process(place.hook(name), place.payload(name), place.env, place.project)
                for _ in range(min(rounds, 5))
            ]
            assert not any(out for _, out in runs)
            deadline = DEADLINES_S.get(name, OTHER_DEADLINE_S)
            most = max(seconds for seconds, _ in runs) / deadline
            yield Line(f"hook {name}, daemon stopped / its deadline", most, "x", 1.2)


def recall(place: Place, rounds: int) -> Iterator[Line]:
    """recall_records in the daemon's own code: over many scopes, and beside one very large one."""
    scopes = [f"{IDENTITY}-{number}" for number in range(100)]
    calls = max(rounds, 20) * 40
    large = [*scopes, *[IDENTITY] * 100]
    for name, count, spread, most, between in (
        ("100,000 records", 100_000, scopes, 10, lambda _: None),
        # Every second call asks for the scope that holds half of them.
        ("200,000, half in one scope, a write between", 200_000, large, 15, change_a_record),
    ):
        paths = paths_at(place.root / f"recall{count}")
        place.fill_records(paths, [Scope("repository", scope) for scope in spread], count)
        asked = [spread[number * 7 % len(spread)] for number in range(calls)]
        times = time_recall(place, paths, asked, between)
        shutil.rmtree(paths.home)
        note = f"median {median(times):.2f} ms of {calls} calls"
        yield Line(f"recall_records, {name}, p99", percentile(times, 0.99), "ms", most, note)


def change_a_record(store: Database) -> None:
    """What any other session may do: no window that was kept holds after it."""
    with store.writing() as db:
        db.run("UPDATE record_version SET version = version + 1")


def time_recall(
    place: Place, paths: Paths, scopes: list[str], between: Callable[[Database], None]
) -> list[float]:
    """Milliseconds of one call for each of these scopes, with and without words and a file."""
    from mash_plugin.memory.recall import recall_records

    store, chats = open_store(paths, place.now), open_chats(paths)
    call = Call(store, ChatIndex(chats, list), Settings(), place.now, lambda: "unused", Windows())
    more = (
        {},
        {"query": "invoice cache timeout"},
        {"file": "src/ledger.py"},
        {"query": "we keep the payment queue before the migration", "limit": 20},
    )
    times = []
    for number, identity in enumerate(scopes):
        between(store)
        scope = {"kind": "repository", "identity": identity}
        request = {"scope": scope, "limit": 8, "byte_budget": 6000, **DEFAULTS}
        request |= more[number % len(more)]
        begin = time.perf_counter()
        answer = recall_records(call, request)
        times.append((time.perf_counter() - begin) * 1000)
        assert answer["records"], request
    store.close()
    chats.close()
    return times


DEFAULTS = {"include_review": False, "include_personal": False}


def paths_at(root: Path) -> Paths:
    root.mkdir()
    paths = Paths(str(root / "run"), str(root / "config.toml"), str(root / "data"), str(root))
    Path(paths.data).mkdir()
    return paths


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
        os.system(f"rm -r '{paths.home}'") if number < 2 else None  # noqa: S605 - our own folder
    assert report is not None
    size = sum(file.stat().st_size for file in files) / 1e6
    note = (
        f"{size:.0f} MB, {lines} lines, {stored[0] if stored else 0} messages;"
        f" {report.bytes_skipped / 1e6:.1f} MB of tool output kept short,"
        f" {report.lines_skipped} lines skipped"
    )
    yield Line("first index / orjson.loads of every line", median(ratios), "x", 4, note)
    pid = place.filled.start_daemon()
    yield Line("daemon after that index, resident", resident_mb(pid), "MB", 80)


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


def cold(place: Place, rounds: int) -> Iterator[Line]:
    """From no daemon at all to a hook's first answer."""
    assert place.busy

    def floor(_number: int) -> float:
        return time_process(place.floor(), b"{}", place.env, place.project)[0]

    silent = 0

    def start(_number: int) -> float:
        nonlocal silent
        place.stop_daemon()
        payload = place.payload("session-start")
        seconds, out = time_process(place.hook("session-start"), payload, place.env, place.project)
        silent += not out
        return seconds

    rounds = min(rounds, 20)
    ratio = paired_ratio(rounds, floor, start)
    note = f"{silent} of {rounds} silent"
    yield Line("cold start to a hook's first answer / bare interpreter", ratio, "x", 8, note)


def mcp(place: Place, _rounds: int) -> Iterator[Line]:
    """`mash mcp` from its start to the answer of tools/list; and who imports the SDK."""
    place.start_daemon()
    times = [first_tools_list(place) for _ in range(5)]
    yield Line("mash mcp, start to first tools/list, median", median(times), "s")
    floor = median(time_process(place.floor(), b"", place.env)[0] for _ in range(5))
    yield Line("mash mcp, the same / bare interpreter", median(times) / floor, "x")
    names = [
        name
        for _, name, _ in pkgutil.walk_packages(mash_plugin.__path__, "mash_plugin.")
        if name not in ("mash_plugin.mcp_server", "mash_plugin.__main__")
        and not name.startswith("mash_plugin.daemon.__main__")
    ]
    code = f"import sys\nfor name in {names!r}: __import__(name)\nprint(int('mcp' in sys.modules))"
    done = subprocess.run(
        [place.python, "-c", code], capture_output=True, text=True, check=True, cwd=place.root
    )
    yield Line("other modules that import the SDK", float(done.stdout), "", 0)


def first_tools_list(place: Place) -> float:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "bench", "version": "1"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [place.python, "-m", "mash_plugin", "mcp"],
        cwd=place.root,
        env=place.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for message in (
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        if message.get("id") == 1:
            process.stdout.readline()
    answer = json.loads(process.stdout.readline())
    seconds = time.perf_counter() - begin
    assert answer["result"]["tools"]
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    return seconds


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


def mask(_place: Place, rounds: int) -> Iterator[Line]:
    """Masking of what people and agents write, in long texts and in short ones."""
    from mash_plugin.privacy.credentials import mask as masked

    words, secret = Words(random.Random(1)), "gh" + "p_" + "a1B2" * 9  # noqa: S311 - repeatable
    pieces = {
        "English": lambda: f"{words.prose(900)} The token, the key and the password stay. ",
        "Chinese": lambda: words.chinese(900),
        "code": lambda: f"{words.rng.choice(words.blocks)}\ntoken = get_token(key)\n",
    }
    for language, piece in pieces.items():
        text = ""
        while len(text.encode()) < 1_000_000:
            text += piece()
        text = f"{text[:-500_000]} {secret} {text[-500_000:]}"
        for size, note in ((len(text), "one text of 1 MB"), (4_000, "messages of 4,000")):
            parts = [text[at : at + size] for at in range(0, len(text), size)]
            times = []
            for _ in range(min(rounds, 9)):
                begin = time.perf_counter()
                shown = [masked(part) for part in parts]
                times.append(time.perf_counter() - begin)
            assert "[masked GitHub token]" in "".join(shown)
            speed = len(text.encode()) / 1e6 / median(times)
            yield Line(f"masking of {language}, {note}", speed, "MB/s", least=20)


def save(place: Place, rounds: int) -> Iterator[Line]:
    """`record` end to end in a store of 100,000 records: one agent, then sixteen writers."""
    with filled_home(place) as environment:
        times = saved_over_mcp(place, environment, max(rounds, 20) * 10)
        note = f"median {median(times):.2f} ms of {len(times)}"
        yield Line("record over MCP, 100,000 records, p99", percentile(times, 0.99), "ms", 50, note)
        speed = writes_a_second(environment, writers=16, each=max(rounds, 20) * 2)
        note = f"store of {store_bytes(environment) / 1e6:.0f} MB"
        yield Line("durable writes a second, 16 writers", speed, "1/s", None, note, least=200)


ROWS: dict[str, Callable[[Place, int], Iterator[Line]]] = {
    "hooks": hooks,
    "away": away,
    "recall": recall,
    "index": index,
    "append": append,
    "cold": cold,
    "mcp": mcp,
    "search": search,
    "mask": mask,
    "save": save,
    "publish": publish,
    "group": group,
    "capture": capture,
    "drain": drain,
    "working": working,
    "dash": dash,
}
