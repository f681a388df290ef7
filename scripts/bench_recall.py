"""`recall_records` over many records, in the code that the daemon runs."""

import shutil
import time
from collections.abc import Callable, Iterator
from statistics import median

from bench_place import IDENTITY, Place, paths_at
from bench_table import Line
from bench_timing import percentile

from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths
from mash_plugin.records.model import Scope
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.sqlite import Database

DEFAULTS = {"include_review": False, "include_personal": False}


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
