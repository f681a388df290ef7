"""Queries that take too long, and the readers that threads leave behind."""

import os
import threading
import time

import pytest

from mash_plugin.errors import StoreBusy
from mash_plugin.store import connection
from mash_plugin.store.connection import limited
from mash_plugin.store.sqlite import Database

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
NEVER = f"{ENDLESS} WHERE x < 0"
MANY = ENDLESS.replace("SELECT x FROM n", "SELECT max(x) FROM (SELECT x FROM n LIMIT 300000)")


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "QUERY_S", 0.05)


@pytest.mark.usefixtures("short_limit")
@pytest.mark.parametrize("verb", ["one", "all", "each", "run"])
@pytest.mark.row(10)
def test_a_query_of_a_request_is_broken_off_and_the_next_one_answered(
    database: Database, verb: str
) -> None:
    with limited():
        with pytest.raises(StoreBusy, match="took too long"), database.reading() as db:
            tuple(getattr(db, verb)(NEVER) or ())
        with database.reading() as db:
            assert db.one("SELECT 1") == (1,)


@pytest.mark.usefixtures("short_limit")
@pytest.mark.row(10)
def test_a_change_that_is_broken_off_saves_nothing(database: Database) -> None:
    def change(*statements: str) -> None:
        with limited(), database.writing() as db:
            for statement in statements:
                db.run(statement)

    with pytest.raises(StoreBusy, match="nothing was saved"):
        change("INSERT INTO t VALUES (1)", f"INSERT INTO t {NEVER}")
    change("INSERT INTO t VALUES (2)")
    with database.reading() as db:
        assert db.all("SELECT x FROM t") == [(2,)]


def test_only_requests_are_in_a_hurry(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> None:
        with database.reading() as db:
            assert db.one(MANY) == (300_000,)

    monkeypatch.setattr(connection, "QUERY_S", -1.0)
    count()
    with pytest.raises(StoreBusy), limited():
        count()
    count()


@pytest.mark.usefixtures("short_limit")
def test_rows_that_come_in_time_may_be_many(database: Database) -> None:
    with limited(), database.reading() as db:
        rows = db.each(ENDLESS)
        end = time.monotonic() + 3 * connection.QUERY_S
        while time.monotonic() < end:
            next(rows)


def test_a_thread_that_ends_leaves_no_open_files_for_long(database: Database) -> None:
    def read() -> None:
        with database.reading() as db:
            assert db.one("SELECT count(*) FROM t") == (0,)

    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    def read_elsewhere(times: int) -> None:
        for _ in range(times):
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()

    read_elsewhere(2)
    before = open_files()
    read_elsewhere(20)
    assert open_files() <= before
