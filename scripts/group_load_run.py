"""Many readers ask for pages at the same time; the server's own log tells what they cost it."""

import os
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from group_load_fill import SINCE, UNTIL, Size, chat, node_id, repository

from mash_plugin.config import Settings
from mash_plugin.group.cursor import Position, write_cursor
from mash_plugin.group.database import GroupDatabase
from mash_plugin.group.reads import find_page
from mash_plugin.group.session import open_group
from mash_plugin.group.whole import find_copy
from mash_plugin.protocol import validate
from tests.support.groups import Group

LIMIT_MS = 30.0
NOW = UNTIL
READER = "reader"
Json = dict[str, Any]
_LINE = re.compile(
    r"^(\d+) LOG:  duration: ([\d.]+) ms  (?:statement|(?:parse|bind|execute) [^:]*): (.*)$"
)


class Times(NamedTuple):
    """What pages of one kind cost."""

    name: str
    is_list: bool
    pages: int
    p50_ms: float
    p99_ms: float
    worst_ms: float


def filters(size: Size, drawn: random.Random) -> Mapping[str, Json]:
    """What a person or an agent asks for, by its name here."""
    here = {"scope": {"kind": "repository", "identity": repository(drawn.randrange(60))}}
    node = drawn.randrange(size.nodes)
    unknown = {"scope": {"kind": "repository", "identity": "github.com/acme/nobody"}}
    return {
        "everything": {},
        "everything, retired too": {"include_inactive": True, "limit": 50},
        "a repository": here,
        "a repository, 50 a page": {**here, "limit": 50},
        "facts of a repository": {**here, "kind": "fact"},
        "candidates of a repository": {**here, "review": "candidate", "include_inactive": True},
        "accepted decisions": {"state": "accepted"},
        "withdrawn choices": {"state": "withdrawn", "include_inactive": True},
        "retracted candidates": {"state": "retracted", "review": "candidate"},
        "personal preferences": {"scope": {"kind": "personal"}},
        "a node": {"node_id": node_id(node)},
        "a repository of a node": {**here, "node_id": node_id(node), "kind": "decision"},
        "a chat": {"chat": chat(node, drawn.randrange(1 + size.of_node // 25))},
        "a repository of nobody": unknown,
        "a state that no record has": {"state": "proposed"},
    }


def ask(group: Group, size: Size, readers: int, seconds: float, pause_s: float) -> list[Times]:
    """Let them ask for so long; what each kind of page cost the server."""
    log = group.server.folder / "log"
    settings = group.settings(READER)
    group.server.run("ALTER SYSTEM SET log_min_duration_statement = 0", "postgres")
    group.server.run("SELECT pg_reload_conf()", "postgres")
    before = log.stat().st_size
    stop = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_read, args=(settings, size, number, stop, pause_s))
        for number in range(readers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with log.open(errors="replace") as lines:
        lines.seek(before)
        return _times(lines)


def report(times: list[Times]) -> str:
    """A table."""
    lines = [f"{'server time of a page, ms':34} {'pages':>7} {'p50':>7} {'p99':>7} {'worst':>7}"]
    for one in times:
        figures = f"{one.p50_ms:7.2f} {one.p99_ms:7.2f} {one.worst_ms:7.2f}"
        lines.append(f"{one.name:34} {one.pages:7} {figures}")
    return "\n".join(lines)


def _read(settings: Settings, size: Size, number: int, stop: float, pause_s: float) -> None:
    drawn = random.Random(number)  # noqa: S311 - no secret
    db = open_group(settings, os.environ, to_write=False)
    while time.monotonic() < stop:
        name, wanted = drawn.choice([*filters(size, drawn).items()])
        request = validate("list_records", {"shared": True, **wanted})
        is_deep = drawn.random() < 0.5
        if is_deep:
            node = wanted.get("node_id") or node_id(drawn.randrange(size.nodes))
            at = Position(node, drawn.randrange(SINCE, UNTIL), "r")
            request["cursor"] = write_cursor(at, db.group_id, request)
        with _marked(db, f"{name}{', deep' if is_deep else ''}"):
            find_page(db, request, NOW)
        if drawn.random() < 0.2:
            first = find_page(db, validate("list_records", {"shared": True}), NOW)
            copy: Json = {"node_id": first.node_id, "id": first.rows[0][0], "link_offset": 0}
            with _marked(db, "one record"):
                find_copy(db, copy | {"history": True}, NOW)
        time.sleep(drawn.uniform(0, 2 * pause_s))
    db.close()


@contextmanager
def _marked(db: GroupDatabase, name: str) -> Iterator[None]:
    """Let the log tell where a page begins and where it ends."""
    db.one(f"SELECT 'begin {name}'", {})
    yield
    db.one("SELECT 'end'", {})


def _times(lines: Iterable[str]) -> list[Times]:
    costs: dict[str, list[float]] = defaultdict(list)
    open_pages: dict[str, tuple[str, float]] = {}
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        backend, ms, sql = found.groups()
        if sql.startswith("SELECT 'begin "):
            open_pages[backend] = (sql[14:-1], 0.0)
        elif sql.startswith("SELECT 'end'"):
            if backend in open_pages:
                name, spent = open_pages.pop(backend)
                costs[name].append(spent)
        elif backend in open_pages:
            name, spent = open_pages[backend]
            open_pages[backend] = (name, spent + float(ms))
    return [_time(name, sorted(spent)) for name, spent in sorted(costs.items())]


def _time(name: str, spent: list[float]) -> Times:
    p50, p99 = (spent[min(len(spent) - 1, int(len(spent) * part))] for part in (0.5, 0.99))
    return Times(name, name != "one record", len(spent), p50, p99, spent[-1])
