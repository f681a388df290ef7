"""Publishing to a group on a real server, and what its outbox costs those who have no group."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench_place import IDENTITY, Place
from bench_records import build_records
from bench_table import Line
from bench_timing import paired_ratio

from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import Settings
from mash_plugin.group.publisher import Publisher
from mash_plugin.memory.call import Call
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths
from mash_plugin.records.model import Scope
from mash_plugin.store import publication
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.operations import identity_of
from mash_plugin.store.sqlite import Database

RECORDS, SCOPES, SAVED = 10_000, 20, 50
LEAST = 1_000
TRIGGERS = ("added", "changed", "removed", "linked", "unlinked")


def publish(place: Place, rounds: int) -> Iterator[Line]:
    """10,000 records to a group that has none of them; the same ones compared again."""
    from tests.support.groups import running_group, running_server

    root = place.root / "publish"
    paths = _paths(root)
    scopes = [Scope("repository", f"{IDENTITY}-{number}") for number in range(SCOPES)]
    place.fill_records(paths, scopes, RECORDS)
    with running_server() as server, running_group(server, root / "group", "bench") as group:
        store, chats = open_store(paths, place.now), open_chats(paths)
        settings = Settings(group_dsn_file=str(group.dsn_file("bench")))
        call = Call(store, ChatIndex(chats, list), settings, place.now, str, Windows())
        publisher = Publisher(lambda: call, "bench", os.environ)
        seconds = _timed(publisher)
        [(there,)] = group.run("SELECT count(*) FROM pub_records")
        assert there == RECORDS, f"{there} of {RECORDS} records were published"
        with store.writing() as db:
            joined = publication.membership(db)
            assert joined is not None
            publication.remember(db, joined._replace(published="of a backup"))
        compared = _timed(publisher)
        store.close()
        chats.close()
    yield Line(
        "records published a second", RECORDS / seconds, "1/s", None, f"{RECORDS:,}", least=LEAST
    )
    yield Line("the same compared with the server's", RECORDS / compared, "1/s")
    yield Line("a save without a group / without an outbox", _outbox(root, rounds), "x", 1.1)


def _timed(publisher: Publisher) -> float:
    begin = time.perf_counter()
    publisher.run()
    return time.perf_counter() - begin


def _outbox(root: Path, rounds: int) -> float:
    """How much longer a transaction of saves takes for the triggers that find no group."""
    stores = [open_store(_paths(root / name), 1) for name in ("without", "with")]
    with stores[0].writing() as db:
        for name in TRIGGERS:
            db.run(f"DROP TRIGGER publication_{name}")
    ratio = paired_ratio(rounds, *(partial(_save, store) for store in stores))
    for store in stores:
        store.close()
    return ratio


def _save(store: Database, number: int) -> float:
    scope = [Scope("repository", f"{IDENTITY}-{number}")]
    with store.writing() as db:
        owner = identity_of(db).owner
        (before,) = db.one("SELECT count(*) FROM records") or (0,)
    begin = time.perf_counter()
    build_records(store, owner, scope, SAVED, 1_000_000, first=before)
    return time.perf_counter() - begin


def _paths(root: Path) -> Paths:
    root.mkdir(parents=True, exist_ok=True)
    paths = Paths(str(root / "run"), str(root / "config.toml"), str(root / "data"), str(root))
    Path(paths.data).mkdir()
    return paths
