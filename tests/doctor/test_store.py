"""A store, its records, its clock and its backups, each damaged in turn."""

import os
import sqlite3
from pathlib import Path

import pytest

from mash_plugin.doctor.machine import Machine, Rendering
from mash_plugin.doctor.store import check_records, check_store, clock_findings
from mash_plugin.paths import find_paths
from tests.doctor.examined import change_store, examined, fix, is_gone, mend, named, shell
from tests.doctor.machines import machine_at
from tests.setup.terminals import at_terminal
from tests.support.homes import Home

DAY_MINUTES = 24 * 60


def store_of(home: Home) -> Path:
    return home.mash_home / "data/records.db"


def backups_of(home: Home) -> list[Path]:
    return sorted((home.mash_home / "data/backups").glob("records-*.db"))


def lose_files(home: Home) -> None:
    home.mash("daemon", "stop")
    for file in store_of(home).parent.glob("records.db*"):
        file.unlink()


@pytest.mark.spec("R-183")
def test_a_lost_store_comes_back_by_the_printed_command(kept: Home) -> None:
    shell(kept, "mash backup make")
    lose_files(kept)
    found = mend(kept, "store", "store-missing")
    assert found["severity"] == "error"
    assert "mash restore" in found["next"]
    assert len(kept.records("shop")) == 1


@pytest.mark.spec("R-183")
def test_looking_begins_no_new_store_in_place_of_a_lost_one(kept: Home) -> None:
    shell(kept, "mash backup make")
    lose_files(kept)
    examined(kept)
    assert not store_of(kept).exists()


def test_a_store_that_could_not_be_made_is_none_that_was_lost(tmp_path: Path) -> None:
    for served, severity in (({"problem": {}}, "ok"), ({"counts": {}}, "error"), ({}, "ok")):
        machine = machine_at(tmp_path)
        machine.__dict__["served"] = served  # what the running daemon says
        (found,) = check_store(machine)
        assert found.severity == severity


@pytest.mark.spec("R-183")
def test_a_damaged_store_comes_back_and_its_remains_are_kept(kept: Home) -> None:
    shell(kept, "mash backup make")
    kept.mash("daemon", "stop")
    store_of(kept).write_bytes(b"not a database" * 1000)
    found = mend(kept, "store", "store-damaged")
    assert "mash doctor" not in found["what"]
    assert "Retry" not in found["what"]
    assert len(kept.records("shop")) == 1
    left = named(kept, "backups", "set-aside")
    assert "before-restore" in left["next"]
    mend(kept, "backups", "set-aside")


def test_a_damaged_store_without_any_backup_can_be_begun_anew(kept: Home) -> None:
    kept.mash("daemon", "stop")
    for backup in backups_of(kept):
        backup.unlink()
    store_of(kept).write_bytes(b"not a database" * 1000)
    found = mend(kept, "store", "store-damaged")
    assert "no good backup" in found["why"]
    assert kept.records("shop") == []
    assert Path(f"{store_of(kept)}.damaged").exists()


def test_a_store_of_a_newer_version_is_left_alone(kept: Home) -> None:
    change_store(kept, "PRAGMA user_version = 999")
    found = named(kept, "store", "store-newer")
    assert found["next"] == "mash upgrade"
    change_store(kept, "PRAGMA user_version = 1")
    assert is_gone(kept, "store", "store-newer")


def test_a_record_that_does_not_fit_its_checksum_is_found_and_can_be_removed(kept: Home) -> None:
    change_store(
        kept,
        "DROP TRIGGER revisions_immutable",
        "UPDATE revisions SET statement = 'We render invoices with Word.'",
    )
    found = named(kept, "store", "records-damaged")
    assert found["severity"] == "error"
    assert "Word" not in str(found)
    code, shown = at_terminal(found["next"].split(), kept.environment, kept.home, ["y\n"])
    assert code == 0, shown
    assert is_gone(kept, "store", "records-damaged")


def test_a_head_that_does_not_fit_its_revision_is_found(kept: Home) -> None:
    change_store(kept, "UPDATE records SET review = 'candidate'")
    assert "1 record damaged" in named(kept, "store", "records-damaged")["what"]
    change_store(kept, "UPDATE records SET hidden_at = 1")
    assert "1 record damaged" in named(kept, "store", "records-damaged")["what"]
    change_store(kept, "UPDATE records SET review = 'established', hidden_at = NULL")
    assert is_gone(kept, "store", "records-damaged")


def test_records_of_the_future_point_at_the_clock(kept: Home) -> None:
    kept.move_clock(-DAY_MINUTES)
    found = named(kept, "store", "records-of-the-future")
    assert found["severity"] == "warning"
    assert found["next"] == "timedatectl set-ntp true"
    kept.move_clock(DAY_MINUTES)
    assert is_gone(kept, "store", "records-of-the-future")


@pytest.mark.parametrize("now", [0, 946_684_800_000, 32_503_680_000_000])
def test_a_wild_clock_is_an_error_whatever_the_records_say(now: int) -> None:
    (found,) = clock_findings(now, None, 0)
    assert (found.name, found.severity) == ("clock-wild", "error")


def test_records_whose_source_changed_are_a_note(kept: Home) -> None:
    change_store(kept, "UPDATE records SET evidence_stale = 1")
    found = named(kept, "store", "evidence-stale")
    assert found["severity"] == "note"
    shell(kept, found["next"])


def test_a_missing_backup_is_made_by_the_printed_command_and_by_fix(kept: Home) -> None:
    kept.mash("daemon", "stop")
    for make in (mend, fix):
        for backup in backups_of(kept):
            backup.unlink()
        make(kept, "backups", "backup-missing")
        assert len(backups_of(kept)) == 1


def test_a_missing_backup_is_a_warning_once_the_records_are_a_day_old(kept: Home) -> None:
    kept.mash("daemon", "stop")
    for backup in backups_of(kept):
        backup.unlink()
    assert named(kept, "backups", "backup-missing")["severity"] == "note"
    kept.move_clock(2 * DAY_MINUTES)
    assert named(kept, "backups", "backup-missing")["severity"] == "warning"


def test_an_old_backup_counts_only_when_records_were_saved_since(kept: Home) -> None:
    shell(kept, "mash backup make")
    kept.mash("daemon", "stop")
    kept.move_clock(10 * DAY_MINUTES)
    assert is_gone(kept, "backups", "backup-old")
    newest = backups_of(kept)[-1]
    newest.rename(newest.with_name("records-000009-20250101T000000Z.db"))
    found = mend(kept, "backups", "backup-old")
    assert "2025-01-01" in found["what"]


def test_a_backup_that_cannot_be_read_is_set_aside(kept: Home) -> None:
    shell(kept, "mash backup make")
    for set_aside in (mend, fix):
        bad = kept.mash_home / "data/backups/records-000099-20260101T000000Z.db"
        bad.write_bytes(b"no database")
        found = named(kept, "backups", "backup-unreadable")
        assert str(bad) in found["next"]
        set_aside(kept, "backups", "backup-unreadable")
        assert Path(f"{bad}.unreadable").exists()
        os.unlink(f"{bad}.unreadable")


def test_the_store_is_whole_after_all_that(kept: Home) -> None:
    assert examined(kept, "--category", "store")[0] == 0
    with sqlite3.connect(store_of(kept)) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_records_that_there_is_no_time_for_are_counted(kept: Home) -> None:
    paths = find_paths({"MASH_HOME": str(kept.mash_home)})
    machine = Machine(
        *(paths, {}, 0, lambda: Rendering("", {}), lambda: None),
        record_time_s=0.0,
    )
    (found,) = check_records(machine)
    assert found.what.startswith("the newest 0 of 1 records are whole")
