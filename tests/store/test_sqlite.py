"""The two connections of one database file."""

import os
import threading
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import StoreBusy, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store import backup
from mash_plugin.store.connect import LOG_BYTES
from mash_plugin.store.open import open_store
from mash_plugin.store.sqlite import Database
from tests.store.conftest import opened
from tests.store.saving import DAY, NOW, save, saved


def add(database: Database, number: int) -> None:
    with database.writing() as db:
        db.run("INSERT INTO t VALUES (:x)", {"x": number})


def numbers(database: Database) -> list[int]:
    with database.reading() as db:
        return [x for (x,) in db.all("SELECT x FROM t ORDER BY x")]


def test_an_error_inside_writing_takes_everything_back(database: Database) -> None:
    with pytest.raises(apsw.ConstraintError), database.writing() as db:
        db.run("INSERT INTO t VALUES (1); CREATE UNIQUE INDEX u ON t (x); INSERT INTO t VALUES (1)")
    add(database, 2)
    assert numbers(database) == [2]


def test_a_reader_sees_one_moment_even_in_a_reading_inside_a_reading(database: Database) -> None:
    add(database, 1)
    with database.reading() as db:
        assert db.one("SELECT count(*) FROM t") == (1,)
        add(database, 2)
        assert numbers(database) == [1]
    assert numbers(database) == [1, 2]


def test_a_reader_cannot_write(database: Database) -> None:
    from mash_plugin.errors import ReadOnly

    with pytest.raises(ReadOnly), database.reading() as db:
        db.run("INSERT INTO t VALUES (1)")
    add(database, 2)
    assert numbers(database) == [2]


def test_threads_write_and_read_at_once_without_loss(database: Database) -> None:
    def work(start: int) -> None:
        for number in range(start, start + 10):
            add(database, number)
            assert number in numbers(database)

    threads = [threading.Thread(target=work, args=(n * 10,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert numbers(database) == list(range(40))


def test_the_file_is_private_before_its_first_byte(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Database(str(tmp_path / "u.db"), "NORMAL").close()
    finally:
        os.umask(before)
    assert (tmp_path / "u.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("durability", "number"), [("FULL", 2), ("NORMAL", 1)])
@pytest.mark.row(30)
def test_the_pragmas_of_a_durable_store_are_set(
    tmp_path: Path, durability: str, number: int
) -> None:
    database = Database(str(tmp_path / "p.db"), "FULL" if durability == "FULL" else "NORMAL")
    wanted = {
        "journal_mode": "wal",
        "synchronous": number,
        "wal_autocheckpoint": 0,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "secure_delete": 1,
        "cell_size_check": 1,
        "mmap_size": 0,
    }
    with database.writing() as db:
        found = {p: (db.one(f"PRAGMA {p}") or (None,))[0] for p in wanted}
        with pytest.raises(apsw.SQLError):
            db.run("UPDATE sqlite_schema SET sql = ''")
    database.close()
    assert found == wanted


@pytest.mark.row(38)
def test_a_lock_held_by_another_program_stops_writes_but_not_reads(
    short_wait: None, paths: Paths
) -> None:
    with opened(paths) as store:
        save(store, 1)
        other = apsw.Connection(paths.store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="nothing was saved"):
            save(store, 2)
        assert saved(store) == {1}
        store.checkpoint("PASSIVE")
        other.execute("ROLLBACK")
        save(store, 2)
        assert saved(store) == {1, 2}
        other.close()


def test_a_checkpoint_beside_a_reader_waits_for_nothing(database: Database) -> None:
    add(database, 1)
    with database.reading() as db:
        db.one("SELECT * FROM t")
        add(database, 2)
        database.checkpoint("PASSIVE")
    database.checkpoint("TRUNCATE")
    assert os.path.getsize(database.path + "-wal") == 0
    assert numbers(database) == [1, 2]


def test_a_log_that_grew_under_a_long_reader_is_small_again_after_it(database: Database) -> None:
    def size() -> int:
        return os.path.getsize(database.path + "-wal")

    def fill(rows: int) -> None:
        with database.writing() as db:
            db.run("CREATE TABLE IF NOT EXISTS long (text TEXT)")
            db.run_many("INSERT INTO long VALUES (:t)", [{"t": "x" * 100_000}] * rows)

    started, finished = threading.Event(), threading.Event()

    def read_for_long() -> None:
        with database.reading() as db:
            db.one("SELECT count(*) FROM t")
            started.set()
            finished.wait(30)

    reader = threading.Thread(target=read_for_long)
    reader.start()
    started.wait(30)
    for _ in range(4):
        fill(100)
        database.checkpoint("PASSIVE")
    assert size() > 2 * LOG_BYTES  # all of it is still read
    finished.set()
    reader.join()
    database.checkpoint("PASSIVE")
    add(database, 1)
    assert size() <= LOG_BYTES


def test_a_store_deleted_with_its_mark_is_closed_in_peace(paths: Paths) -> None:
    store = open_store(paths, NOW)
    save(store, 1)
    for name in os.listdir(paths.data):
        os.unlink(os.path.join(paths.data, name))
    with opened(paths) as next_one:
        store.close()
        save(next_one, 2)
        with pytest.raises(StoreBusy):
            open_store(paths, NOW)
    assert sorted(os.listdir(paths.data)) == ["records.db", "records.db-reserve"]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_goes_away_while_open_takes_no_more_writes(paths: Paths, how: str) -> None:
    store = open_store(paths, NOW)
    save(store, 1)
    os.unlink(paths.store)
    if how == "replaced":
        Path(paths.store).write_bytes(b"another")
    with pytest.raises(StoreDamaged, match="deleted"):
        save(store, 2)
    assert store.must_exit
    assert saved(store) == {1}
    store.close()
    if how == "replaced":
        assert Path(paths.store).read_bytes() == b"another"


def test_a_store_deleted_while_open_is_rescued_by_the_next_look_at_backups(paths: Paths) -> None:
    store = open_store(paths, NOW)
    save(store, 1)
    backup.daily(store, paths.backups, NOW)
    save(store, 2)
    os.unlink(paths.store)
    seen: list[set[int]] = []
    reader = threading.Thread(target=lambda: seen.append(saved(store)))
    reader.start()
    reader.join()
    assert seen == [{1, 2}]
    assert backup.daily(store, paths.backups, NOW + 1000)
    assert store.must_exit
    assert backup.daily(store, paths.backups, NOW + DAY) is None
    store.close()
    with opened(paths) as again:
        assert saved(again) == {1, 2}
