"""The n-th write, sync or open fails: what was acknowledged is there, and nothing is claimed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import DiskFull, Internal, LocalFailure, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store.backup import quick_check
from mash_plugin.store.open import open_store
from mash_plugin.store.sqlite import Database
from tests.crash.faults import Faults
from tests.store.conftest import finish_check, opened
from tests.store.saving import NOW, paths_in, save, saved

FSYNC, WRITE, FULL = apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_FULL


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[Paths]:
    """In memory where there is such a place: the faults are ours, the disk's speed is not."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else tmp_path)
    yield paths_in(Path(folder))
    shutil.rmtree(folder)


@dataclass
class Claims:
    """What the store told its callers about each write."""

    done: set[int] = field(default_factory=set)
    not_done: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)


def try_saving(store: Database, numbers: range) -> Claims:
    claims = Claims()
    for number in numbers:
        try:
            save(store, number, size=6000)
            claims.done.add(number)
        except LocalFailure as error:
            is_unknown = error.details.get("outcome") == "unknown"
            (claims.unknown if is_unknown else claims.not_done).add(number)
        if number % 3 == 2:
            try:
                store.checkpoint("PASSIVE")
            except LocalFailure:
                continue
    return claims


def sweep(
    faults: Faults, paths: Paths, site: str, code: int, *, is_lasting: bool
) -> list[tuple[Claims, set[int]]]:
    """Fail each call in turn; the claims, and what a process without faults finds after it."""
    outcomes = []
    open_store(paths, NOW).close()
    new = shutil.copytree(paths.data, paths.data + "-new")
    for at in range(1, 500):
        shutil.rmtree(paths.data)
        shutil.copytree(new, paths.data)
        store = open_store(paths, NOW)
        with store.reading():
            pass
        faults.arm(site, at, code, is_lasting=is_lasting)
        claims = try_saving(store, range(5))
        had_failed = faults.has_failed
        abandon(store)
        faults.disarm()
        with opened(paths) as again:
            finish_check(again)
            assert not again.problem
            with again.reading() as db:
                assert quick_check(db.raw) is None
            outcomes.append((claims, saved(again)))
        if not had_failed:
            return outcomes
    raise AssertionError("the sweep has no end")


def abandon(store: Database) -> None:
    """End as after a kill: what lies in the log stays there."""
    store.must_exit = True
    store.close()


@pytest.mark.parametrize("is_lasting", [False, True])
@pytest.mark.parametrize(("site", "code"), [("xWrite", WRITE), ("xWrite", FULL), ("xSync", FSYNC)])
@pytest.mark.spec("R-183")
@pytest.mark.row(31)
def test_no_write_that_was_acknowledged_is_lost_and_none_that_was_refused_is_there(
    faults: Faults, paths: Paths, site: str, code: int, is_lasting: bool
) -> None:
    outcomes = sweep(faults, paths, site, code, is_lasting=is_lasting)
    assert len(outcomes) > 4
    for claims, found in outcomes:
        assert claims.done <= found
        assert found <= claims.done | claims.unknown
        if code == FULL and not is_lasting:
            assert not claims.unknown


@pytest.mark.row(31)
def test_a_failed_fsync_of_a_commit_is_an_unknown_outcome_and_stops_writing(
    faults: Faults, paths: Paths
) -> None:
    store = open_store(paths, NOW)
    save(store, 1)
    faults.arm("xSync", 1, FSYNC)
    with pytest.raises(Internal) as caught:
        save(store, 2)
    assert caught.value.details == {"outcome": "unknown"}
    with pytest.raises(Internal) as refused:
        save(store, 3)
    assert "outcome" not in refused.value.details
    assert store.must_exit
    assert 1 in saved(store)
    assert faults.calls == 1
    store.close()
    assert faults.calls == 1
    faults.disarm()
    with opened(paths) as again:
        assert saved(again) >= {1}
        assert 3 not in saved(again)
        save(again, 4)


@pytest.mark.row(31)
def test_a_failed_write_does_not_stop_the_next_one(faults: Faults, paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        faults.arm("xWrite", 1, WRITE)
        with pytest.raises(Internal) as caught:
            save(store, 2)
        assert caught.value.details == {"outcome": "unknown"}
        save(store, 2)
        assert saved(store) == {1, 2}


def test_a_damaged_page_met_by_a_reader_stops_writing(paths: Paths) -> None:
    with opened(paths) as store:
        for number in range(100):
            save(store, number, size=500)
    size = os.path.getsize(paths.store)
    with open(paths.store, "r+b") as file:
        file.seek(size - 8 * 4096)
        file.write(b"\xa5" * 8 * 4096)
    store = open_store(paths, NOW)
    with pytest.raises(StoreDamaged), store.reading() as db:
        db.all("SELECT receipt FROM receipts")
    with pytest.raises(StoreDamaged):
        save(store, 1000)
    assert store.must_exit
    store.close()
    with pytest.raises(StoreDamaged, match="No good backup"):
        open_store(paths, NOW)
    assert os.path.getsize(paths.store) == size


@pytest.mark.parametrize("site", ["xOpen", "xWrite", "xSync", "xRead"])
@pytest.mark.row(31)
def test_a_fault_at_any_call_of_the_first_opening_leaves_no_half_made_store(
    faults: Faults, paths: Paths, site: str
) -> None:
    for at in range(1, 500):
        shutil.rmtree(paths.data, ignore_errors=True)
        faults.arm(site, at, apsw.SQLITE_IOERR, is_lasting=True)
        try:
            open_store(paths, NOW).close()
        except LocalFailure:
            assert set(os.listdir(paths.data)) <= {"records.db", "records.db-reserve"} | remains()
        had_failed = faults.has_failed
        faults.disarm()
        with opened(paths) as store:
            save(store, 1)
            with store.reading() as db:
                assert db.one("SELECT count(*) FROM owners") == (1,)
        if not had_failed:
            return


def remains() -> set[str]:
    """What may lie beside a whole new store whose first opening failed."""
    return {"records.db-wal", "records.db-shm", "records.db-open"}


@pytest.mark.row(32)
def test_a_full_disk_at_a_checkpoint_spends_the_reserve(faults: Faults, paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        faults.arm("xWrite", 1, FULL)
        store.checkpoint("PASSIVE")
        faults.disarm()
        assert os.path.getsize(paths.store + "-reserve") == 1 << 20
        os.unlink(paths.store + "-reserve")
        save(store, 2)
        faults.arm("xWrite", 1, FULL)
        with pytest.raises(DiskFull):
            store.checkpoint("PASSIVE")
        faults.disarm()
        assert saved(store) == {1, 2}
