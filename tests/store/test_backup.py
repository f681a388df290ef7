"""Backups: due, verified, private, three kept."""

import os
import shutil
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import DiskFull, Internal, LocalFailure, StoreDamaged, UpgradeNeeded
from mash_plugin.paths import Paths
from mash_plugin.store import backup
from mash_plugin.store.sqlite import Database
from tests.crash.faults import Faults
from tests.store.conftest import opened
from tests.store.saving import DAY, NOW, mode, save, saved


def names(paths: Paths) -> list[str]:
    return sorted(os.listdir(paths.backups))


def test_the_first_record_is_backed_up_at_once_and_then_once_a_day(paths: Paths) -> None:
    with opened(paths) as store:
        assert backup.daily(store, paths.backups, NOW) is None
        save(store, 1)
        first = backup.daily(store, paths.backups, NOW)
        assert first
        assert first.made_at == NOW // 1000 * 1000
        assert backup.backups(paths.backups) == [first]
        assert backup.daily(store, paths.backups, NOW + DAY - 1000) is None
        assert backup.daily(store, paths.backups, NOW + DAY)
    assert backup.verify(first.path).counts["receipts"] == 1


@pytest.mark.spec("R-182")
def test_backups_are_private_single_files(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
        backup.newest_good(paths.backups)
    assert names(paths) == [os.path.basename(made.path)]
    assert (mode(paths.backups), mode(made.path)) == (0o700, 0o600)


@pytest.mark.row(39)
def test_three_are_kept_in_the_order_of_making_whatever_the_clock_says(paths: Paths) -> None:
    with opened(paths) as store:
        for number, now in enumerate([NOW, NOW + 9 * DAY, NOW - 400 * DAY, NOW + DAY, NOW]):
            save(store, number)
            assert backup.daily(store, paths.backups, now)
        kept = backup.backups(paths.backups)
        assert [b.number for b in kept] == [5, 4, 3]
        assert [backup.verify(b.path).counts["receipts"] for b in kept] == [5, 4, 3]
        assert kept[2].made_at == (NOW - 400 * DAY) // 1000 * 1000


@pytest.mark.row(37)
def test_a_backup_beside_writers_is_one_moment(paths: Paths) -> None:
    with opened(paths) as store, store.reading() as db:
        db.one("SELECT count(*) FROM receipts")
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
        assert backup.verify(made.path).counts["receipts"] == 0


@pytest.mark.parametrize("site", ["xWrite", "xSync"])
def test_a_fault_at_any_call_leaves_no_file_and_keeps_the_old_ones(
    faults: Faults, paths: Paths, site: str
) -> None:
    with opened(paths) as store:
        save(store, 1)
        first = backup.make(store, paths.backups, NOW)
        for at in range(1, 500):
            faults.arm(site, at, apsw.SQLITE_FULL, is_lasting=True)
            try:
                backup.make(store, paths.backups, NOW)
            except (DiskFull, Internal):
                assert names(paths) == [os.path.basename(first.path)]
            else:
                assert not faults.has_failed
                break
            finally:
                faults.disarm()
        assert at > 2
        save(store, 2)


def test_what_a_killed_backup_left_goes_with_the_next_one(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        os.makedirs(paths.backups)
        left = "records-000007-20251130T105320Z.db.part"
        for suffix in ("", "-journal"):
            Path(paths.backups, left + suffix).write_bytes(b"half")
        assert backup.newest_good(paths.backups) is None
        made = backup.make(store, paths.backups, NOW)
    assert names(paths) == [os.path.basename(made.path)]


def test_the_newest_good_backup_is_found_behind_bad_ones(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        good, cut, foreign = (backup.make(store, paths.backups, NOW + n) for n in range(3))
    os.truncate(cut.path, 5000)
    Path(foreign.path).write_bytes(b"\xa5" * 5000)
    Path(paths.backups, "records-notes.db").write_text("mine")
    found = backup.newest_good(paths.backups)
    assert found
    assert found.path == good.path
    for bad in (cut, foreign):
        with pytest.raises(StoreDamaged):
            backup.verify(bad.path)


def test_what_is_no_file_is_no_backup_whatever_its_name(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
        folder = Path(paths.backups)
        os.mkfifo(folder / "records-000007-20261201T044000Z.db")  # to open it waits for ever
        (folder / "records-000008-20261201T044000Z.db").symlink_to(made.path)
        (folder / "records-000009-20261201T044000Z.db").mkdir()
        assert backup.backups(paths.backups) == [made]
        for number in range(3):
            backup.make(store, paths.backups, NOW + number)
    assert len(backup.backups(paths.backups)) == 3


def test_a_backup_of_a_newer_schema_is_not_good(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
    newer = apsw.Connection(made.path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(UpgradeNeeded):
        backup.verify(made.path)
    assert backup.newest_good(paths.backups) is None


def test_a_damaged_store_gives_no_backup_and_costs_none(paths: Paths) -> None:
    with opened(paths) as store:
        for number in range(100):
            save(store, number, size=500)
        made = backup.make(store, paths.backups, NOW)
    size = os.path.getsize(paths.store)
    with open(paths.store, "r+b") as file:
        file.seek(size - 8 * 4096)
        file.write(b"\xa5" * 8 * 4096)
    database = Database(paths.store, "FULL", access="existing")
    with pytest.raises(LocalFailure):
        backup.make(database, paths.backups, NOW + DAY)
    database.close()
    assert names(paths) == [os.path.basename(made.path)]


def test_a_copy_that_lost_something_is_thrown_away(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(paths) as store:
        save(store, 1)
        good = backup.make(store, paths.backups, NOW)
        save(store, 2)
        monkeypatch.setattr(backup, "copy", lambda _, path, **__: shutil.copy(good.path, path))
        with pytest.raises(StoreDamaged, match="differs"):
            backup.make(store, paths.backups, NOW)
    assert names(paths) == [os.path.basename(good.path)]


def test_nothing_is_backed_up_from_a_backup(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        backup.make(store, paths.backups, NOW)
    os.unlink(paths.store)
    with opened(paths) as store:
        assert backup.daily(store, paths.backups, NOW + 2 * DAY) is None
        assert saved(store) == {1}
