from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mash_plugin.paths import Paths
from mash_plugin.store import connect
from mash_plugin.store.open import open_store
from mash_plugin.store.sqlite import Database
from tests.crash.faults import Faults
from tests.crash.watched import faulty_vfs
from tests.store.saving import NOW, paths_in


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return paths_in(tmp_path / "mash é %23")


@pytest.fixture
def faults() -> Iterator[Faults]:
    with faulty_vfs() as vfs:
        yield vfs


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A file with one table and nothing of mash in it."""
    database = Database(str(tmp_path / "t.db"), "FULL")
    with database.writing() as db:
        db.run("CREATE TABLE t (x INTEGER)")
    yield database
    database.close()


@pytest.fixture
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSY_MS", 50)


@contextmanager
def opened(paths: Paths, now: int = NOW) -> Iterator[Database]:
    """The store as the daemon has it, closed at the end."""
    database = open_store(paths, now)
    try:
        yield database
    finally:
        database.close()


def finish_check(database: Database) -> None:
    """Wait for the check after an unclean end."""
    if database.check:
        database.check.join()
