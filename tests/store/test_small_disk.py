"""A disk that is really full, or really read-only: on small file systems of our own."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.errors import DiskFull, ReadOnly
from mash_plugin.paths import Paths
from mash_plugin.store import backup, migrate
from mash_plugin.store.checks import store_report
from mash_plugin.store.open import open_store
from mash_plugin.store.sqlite import Database
from tests.store.conftest import opened
from tests.store.saving import NOW, paths_in, save, saved
from tests.support.migrating import schemas, write_migrations
from tests.support.schema_fixtures import contents, fixtures, newest, served, unpack
from tests.support.small_disk import fill, needs_root, pass_in_a_namespace, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Four megabytes."""
    with small_disk(tmp_path / "disk", 4) as folder:
        yield folder


def crash(store: Database) -> None:
    """End as after a kill, with the shared memory file gone as after a restart of the machine."""
    store.must_exit = True
    store.close()
    os.unlink(store.path + "-shm")


@needs_root
@pytest.mark.spec("R-183")
@pytest.mark.row(32)
def test_a_full_disk_refuses_writes_serves_reads_and_recovers(disk: Path) -> None:
    paths = paths_in(disk)
    with opened(paths) as store:
        save(store, 1)
        filler = fill(disk)
        for _ in range(3):
            with pytest.raises(DiskFull) as caught:
                save(store, 2, size=20_000)
            assert "outcome" not in caught.value.details
            assert paths.store in caught.value.message
            assert "bytes free" in caught.value.message
            assert "nothing was saved" in caught.value.message
        assert saved(store) == {1}
        assert store_report(paths).state == "full"
        with pytest.raises(DiskFull):
            backup.make(store, paths.backups, NOW)
        assert not os.path.isdir(paths.backups) or os.listdir(paths.backups) == []
        filler.unlink()
        save(store, 2, size=20_000)
        assert not store.must_exit
    with opened(paths) as store:
        assert saved(store) == {1, 2}


@needs_root
@pytest.mark.row(32)
def test_the_reserve_lets_a_deletion_through_on_a_full_disk(disk: Path) -> None:
    paths = paths_in(disk)
    with opened(paths) as store:
        for number in range(40):
            save(store, number, size=5000)
        store.checkpoint("TRUNCATE")
        fill(disk)
        with pytest.raises(DiskFull):
            save(store, 100, size=50_000)
        with store.writing(may_use_reserve=True) as db:
            db.run("DELETE FROM receipts")
        store.checkpoint("TRUNCATE")
        assert saved(store) == set()


@needs_root
@pytest.mark.spec("R-183")
@pytest.mark.row(33)
def test_a_full_disk_after_a_crash_gives_a_reading_service_that_says_why(disk: Path) -> None:
    paths = paths_in(disk)
    store = open_store(paths, NOW)
    save(store, 1)
    crash(store)
    filler = fill(disk)
    log = Path(paths.store + "-wal").read_bytes()
    store = open_store(paths, NOW)
    assert saved(store) == {1}
    assert "4874" in (store.problem.message if store.problem else "")
    with pytest.raises(DiskFull):
        save(store, 2)
    assert saved(store) == {1}
    assert store_report(paths).state == "full"
    assert not store.must_exit
    store.close()
    assert Path(paths.store + "-wal").read_bytes() == log
    store = open_store(paths, NOW)
    with pytest.raises(DiskFull):
        save(store, 2)
    filler.unlink()
    save(store, 2)
    assert store.problem is None
    assert saved(store) == {1, 2}
    store.close()


@needs_root
@pytest.mark.row(32)
def test_a_first_opening_on_a_full_disk_leaves_no_half_made_store(disk: Path) -> None:
    paths = paths_in(disk)
    filler = fill(disk)
    with pytest.raises(DiskFull):
        open_store(paths, NOW)
    assert not os.path.exists(paths.store)
    filler.unlink()
    with opened(paths) as store:
        save(store, 1)


@needs_root
@pytest.mark.row(32)
def test_a_migration_on_a_full_disk_changes_nothing_and_is_done_once_there_is_room(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = paths_in(disk)
    old = unpack(fixtures()[-1], paths)
    assert schemas(paths) == newest()
    before = Path(paths.store).read_bytes()
    monkeypatch.setattr(migrate, "_FOLDER", str(write_migrations(tmp_path / "migrations")))
    filler = fill(disk)
    with pytest.raises(DiskFull, match=str(disk)):
        open_store(paths, NOW)
    assert Path(paths.store).read_bytes() == before
    assert not list(Path(paths.backups).glob("*"))
    filler.unlink()
    with served(paths, disk) as call:
        assert contents(call)["marks"] == old["contents"]["marks"]
    assert schemas(paths) == {family: number + 1 for family, number in newest().items()}


@needs_root
@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.row(34)
def test_a_read_only_file_system_is_read(disk: Path, is_clean: bool) -> None:
    paths = paths_in(disk)
    store = open_store(paths, NOW)
    save(store, 1)
    if is_clean:
        store.close()
    else:
        crash(store)
    remount(disk, "ro")
    try:
        store = open_store(paths, NOW)
        assert saved(store) == {1}
        with pytest.raises(ReadOnly, match="nothing was saved"):
            save(store, 2)
        assert saved(store) == {1}
        store.close()
        report = store_report(paths)
        assert (report.state, report.counts["receipts"]) == ("read_only", 1)
    finally:
        remount(disk, "rw")
    with opened(paths) as store:
        save(store, 2)
        assert saved(store) == {1, 2}


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], check=True, timeout=30)


@pytest.mark.skipif(os.geteuid() == 0, reason="the tests above have run as root")
def test_the_tests_above_pass_in_a_user_namespace(tmp_path: Path) -> None:
    pass_in_a_namespace(__file__, tmp_path)


def test_a_store_file_without_the_write_bit_is_read(paths: Paths) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everything; the read-only file system above stands for it")
    with opened(paths) as store:
        save(store, 1)
    os.chmod(paths.store, 0o400)
    with opened(paths) as store:
        assert saved(store) == {1}
        with pytest.raises(ReadOnly):
            save(store, 2)
