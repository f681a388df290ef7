"""Bringing the store back."""

import fcntl
import os
import shlex
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import DiskFull, Internal, InvalidArgument, StoreBusy, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store import backup
from mash_plugin.store.checks import store_report
from mash_plugin.store.forgotten import mark_chats
from mash_plugin.store.open import open_store
from mash_plugin.store.restore import restore
from tests.crash.faults import Faults
from tests.store.conftest import opened
from tests.store.saving import DAY, NOW, mode, save, saved


@pytest.fixture
def made(paths: Paths) -> backup.Backup:
    """A store of 1 and 2, backed up, that went on to 3."""
    with opened(paths) as store:
        save(store, 1)
        save(store, 2)
        made = backup.make(store, paths.backups, NOW)
        save(store, 3)
    return made


@pytest.mark.spec("R-064", "R-183")
def test_a_deleted_store_comes_back_by_the_line_that_the_report_prints(
    paths: Paths, made: backup.Backup
) -> None:
    with opened(paths) as store, store.reading() as db:
        identity = db.all("SELECT * FROM meta ORDER BY key")
    os.unlink(paths.store)
    report = store_report(paths)
    assert report.state == "missing"
    assert report.restore_command
    words = shlex.split(report.restore_command)
    assert words == ["env", f"MASH_HOME={paths.home}", "mash", "restore"]
    done = restore(paths, None, NOW + DAY)
    assert (done.backup, done.kept, done.counts["receipts"]) == (made.path, None, 2)
    with opened(paths) as store:
        assert saved(store) == {1, 2}
        save(store, 4)
        with store.reading() as db:
            meta = db.all("SELECT * FROM meta ORDER BY key")
    assert set(identity) <= set(meta)
    assert mode(paths.store) == 0o600
    assert store_report(paths).state == "ok"


def test_the_damaged_original_is_kept_with_its_log(paths: Paths, made: backup.Backup) -> None:
    Path(paths.store).write_bytes(b"damaged")
    Path(paths.store + "-wal").write_bytes(b"log")
    done = restore(paths, None, NOW)
    assert done.kept == paths.store + ".before-restore-1"
    assert Path(done.kept).read_bytes() == b"damaged"
    assert Path(done.kept + "-wal").read_bytes() == b"log"
    again = restore(paths, None, NOW)
    assert again.kept == paths.store + ".before-restore-2"
    with opened(paths) as store:
        assert saved(store) == {1, 2}
        assert store.problem is None


def test_a_store_with_an_unclean_end_counts_as_clean_after_a_restore(
    paths: Paths, made: backup.Backup
) -> None:
    Path(paths.store + "-open").write_bytes(b"suspect\n")
    restore(paths, None, NOW)
    with opened(paths) as store:
        assert not store.is_unchecked


def test_nothing_happens_while_a_daemon_holds_its_lock(paths: Paths, made: backup.Backup) -> None:
    os.makedirs(paths.run)
    before = Path(paths.store).read_bytes()
    with open(paths.daemon_lock, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy, match="mash daemon stop"):
            restore(paths, made.path, NOW, wait_s=0.01)
    assert Path(paths.store).read_bytes() == before


def test_nothing_happens_while_a_process_without_that_lock_serves_the_store(
    paths: Paths, made: backup.Backup
) -> None:
    with opened(paths) as store:
        with pytest.raises(StoreBusy):
            restore(paths, made.path, NOW, wait_s=0.01)
        assert saved(store) == {1, 2, 3}


def test_a_bad_or_absent_backup_changes_nothing(paths: Paths, made: backup.Backup) -> None:
    os.truncate(made.path, 5000)
    wrong = [(made.path, StoreDamaged), ("/nowhere", InvalidArgument), (None, StoreDamaged)]
    for path, error in wrong:
        with pytest.raises(error):
            restore(paths, path, NOW)
    with opened(paths) as store:
        assert saved(store) == {1, 2, 3}


@pytest.mark.parametrize("site", ["xWrite", "xSync"])
def test_a_fault_at_any_call_leaves_the_former_store_in_its_place(
    faults: Faults, paths: Paths, made: backup.Backup, site: str
) -> None:
    before = Path(paths.store).read_bytes()
    for at in range(1, 500):
        faults.arm(site, at, apsw.SQLITE_FULL, is_lasting=True)
        try:
            restore(paths, made.path, NOW)
        except (DiskFull, Internal):
            assert Path(paths.store).read_bytes() == before
            assert not os.path.exists(paths.store + ".restoring")
        else:
            assert not faults.has_failed
            break
        finally:
            faults.disarm()
    assert at > 2


def test_a_restore_cut_after_the_original_was_set_aside_is_finished_by_the_next(
    paths: Paths, made: backup.Backup
) -> None:
    os.rename(paths.store, paths.store + ".before-restore-1")
    Path(paths.store + "-wal").write_bytes(b"log")
    Path(paths.store + ".restoring").write_bytes(b"half")
    store = open_store(paths, NOW)
    assert store.problem
    store.close()
    done = restore(paths, None, NOW)
    assert done.kept == paths.store + ".before-restore-2"
    with opened(paths) as store:
        assert saved(store) == {1, 2}


@pytest.mark.row(37)
def test_two_stores_from_one_backup_have_different_generations(
    paths: Paths, made: backup.Backup
) -> None:
    seen = set()
    for _ in range(2):
        restore(paths, made.path, NOW)
        with opened(paths) as store, store.reading() as db:
            seen.add(db.one("SELECT value FROM meta WHERE key = 'generation'"))
    assert len(seen) == 2


def test_a_restore_that_was_cut_still_knows_what_was_forgotten(
    paths: Paths, made: backup.Backup
) -> None:
    """The kill came between the two renames of setting aside: the log kept its name."""
    store = open_store(paths, NOW)
    with store.writing() as db:
        mark_chats(db, ["claude-code-s-1"], NOW)
    copy = Path(paths.store).read_bytes(), Path(paths.store + "-wal").read_bytes()
    store.close()
    with opened(paths) as store, store.reading() as db:
        wanted = db.all("SELECT chat_key FROM chat_tombstones")
    restore(paths, None, NOW)
    os.rename(paths.store, paths.store + ".restoring")
    Path(paths.store + ".before-restore-1").write_bytes(copy[0])
    Path(paths.store + "-wal").write_bytes(copy[1])
    done = restore(paths, None, NOW)
    assert done.forgotten_again == 0
    with opened(paths) as store, store.reading() as db:
        assert db.all("SELECT chat_key FROM chat_tombstones") == wanted
        assert len(wanted) == 1


def test_the_backup_of_another_user_and_a_link_are_refused(
    paths: Paths, made: backup.Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = made.path + ".link"
    os.symlink(made.path, link)
    with pytest.raises(InvalidArgument, match="is a link"):
        restore(paths, link, NOW)
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    with pytest.raises(InvalidArgument, match=f"belongs to user {real}"):
        restore(paths, made.path, NOW)
    monkeypatch.undo()
    with opened(paths) as store:
        assert saved(store) == {1, 2, 3}
