"""Hooks where records of a group are recalled and its server hangs, against hooks without one."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench_place import EVENTS, IDENTITY, Place
from bench_table import Line
from bench_timing import paired_ratio, time_process

from mash_plugin.config import read_settings
from mash_plugin.group.cache import MOST_RECORDS, GroupCache, membership_of
from mash_plugin.memory.group_copy import GroupRecord

MOST = 1.1
OLD_MS = 10 * 60_000
"""So old that the daemon tries to fetch the copy anew while hooks are timed."""


def group(place: Place, rounds: int) -> Iterator[Line]:
    """Each hook with `[recall] group = true` and a server that says nothing / without a group."""
    place.busy.settled_daemon()
    config = Path(place.paths.config_file)
    without = config.read_text()
    dsn_file = config.with_name("group.dsn")
    joined = f'{without}\n[group]\ndsn_file = "{dsn_file}"\n[recall]\ngroup = true\n'
    with silent_server() as port:
        dsn_file.write_text(f"host=127.0.0.1 port={port} dbname=x user=mash_team_m_bench\n")
        dsn_file.chmod(0o600)
        for name in EVENTS:
            shown: list[bool] = []
            floor = partial(timed, place, name, without, [])
            ratio = paired_ratio(rounds, floor, partial(timed, place, name, joined, shown))
            if name == "session-start" and not all(shown):
                raise RuntimeError(f"{shown.count(False)} timed starts showed nothing of the group")
            note = f"{shown.count(True)} of {len(shown)} runs showed records of the group"
            yield Line(f"hook {name}, the group's server hangs / no group", ratio, "x", MOST, note)
        floor = partial(cold, place, without)
        ratio = paired_ratio(min(rounds, 20), floor, partial(cold, place, joined))
        yield Line("cold start, the group's server hangs / no group", ratio, "x", MOST)
    config.write_text(without)


def timed(place: Place, hook: str, settings: str, shown: list[bool], _number: int) -> float:
    """Seconds of one run under these settings, after another one that made them known."""
    Path(place.paths.config_file).write_text(settings)
    keep_copy(place)  # a daemon that was told of no group has removed it
    for _ in range(2):
        run = place.hook(hook), place.payload(hook), place.env, place.project
        seconds, out = time_process(*run)
    shown.append(b"From others of the group" in out)
    return seconds


def cold(place: Place, settings: str, _number: int) -> float:
    """Seconds from no daemon at all to the first answer under these settings."""
    timed(place, "session-start", settings, [], 0)  # the parsed settings are kept, as they are
    place.stop_daemon()
    run = place.hook("session-start"), place.payload("session-start"), place.env, place.project
    seconds, out = time_process(*run)
    assert (b"From others of the group" in out) == ("[group]" in settings)
    return seconds


def keep_copy(place: Place) -> None:
    """As many records of others as a copy holds, for the project of the hooks."""
    membership = membership_of(read_settings(place.paths.config_file, {}))
    if membership is None:
        return
    records = [record(number, place.now) for number in range(MOST_RECORDS)]
    at = place.now - OLD_MS
    GroupCache(place.paths.group).keep(IDENTITY, records, membership, at)


def record(number: int, now: int) -> GroupRecord:
    """One decision of another member."""
    statement = f"Service {number} keeps its invoices in a queue of its own, with a timeout."
    return GroupRecord(
        id=f"{number:032x}",
        node_id="a1b2c3d4e5f60718",
        owner="anna",
        kind="decision",
        revision=1,
        state="accepted",
        statement=statement,
        recorded_by="Claude Code",
        recorded_at=now - number * 60_000,
        confirmations=0,
        decided_by="person",
        effective_at=None,
        valid_until=None,
        reported_by=None,
        alternatives=(),
        consequences=(),
        conditions=(),
        is_suspicious=False,
        statement_tokens=statement.lower(),
        strong_tokens=statement.lower(),
        weak_tokens="",
    )


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word: the worst way to be gone."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        yield int(server.getsockname()[1])
