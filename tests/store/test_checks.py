"""What the doctor is told about the store."""

import os
from pathlib import Path

import pytest

from mash_plugin.paths import Paths
from mash_plugin.store import backup, checks, room
from mash_plugin.store.checks import store_report
from mash_plugin.store.migrate import schema_number
from tests.store.conftest import opened
from tests.store.saving import NOW, save


def test_a_store_that_was_never_made_is_missing_without_a_command(paths: Paths) -> None:
    report = store_report(paths)
    assert (report.state, report.restore_command) == ("missing", None)
    assert report.problem
    assert not os.path.exists(paths.data)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_sound_store_is_counted_without_leaving_a_trace(paths: Paths, is_running: bool) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
        save(store, 2)
        if is_running:
            report = store_report(paths)
    if not is_running:
        before = sorted(os.listdir(paths.data))
        report = store_report(paths)
        assert sorted(os.listdir(paths.data)) == before
    assert (report.state, report.problem, report.restore_command) == ("ok", None, None)
    assert report.counts["receipts"] == 2
    assert report.schema == schema_number("records")
    assert (report.last_backup, report.last_backup_at) == (made.path, made.made_at)
    assert report.too_open == ()
    assert [int(n) for n in report.sqlite.split(".")] >= [3, 51, 3]


def test_damage_in_a_page_is_found_by_the_thorough_look(paths: Paths) -> None:
    with opened(paths) as store:
        for number in range(100):
            save(store, number, size=500)
        backup.make(store, paths.backups, NOW)
    with open(paths.store, "r+b") as file:
        file.seek(os.path.getsize(paths.store) - 8 * 4096)
        file.write(b"\xa5" * 8 * 4096)
    report = store_report(paths)
    assert report.state == "damaged"
    assert report.restore_command
    assert report.restore_command.endswith("mash restore")
    Path(paths.store + "-open").write_bytes(b"suspect\n")
    assert store_report(paths, is_thorough=False).state == "damaged"


@pytest.mark.parametrize("content", [b"", b"\xa5" * 5000])
def test_a_file_that_is_no_store_is_damaged(paths: Paths, content: bytes) -> None:
    os.makedirs(paths.data)
    Path(paths.store).write_bytes(content)
    report = store_report(paths)
    assert (report.state, report.restore_command) == ("damaged", None)
    assert Path(paths.store).read_bytes() == content


def test_a_lost_store_whose_backups_are_bad_is_not_called_new(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
    os.truncate(made.path, 5000)
    os.unlink(paths.store)
    report = store_report(paths)
    assert (report.state, report.restore_command) == ("damaged", None)
    assert "No good backup" in (report.problem or "")


def test_a_newer_store_asks_for_an_upgrade_and_for_no_restore(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        backup.make(store, paths.backups, NOW)
        with store.writing() as db:
            db.run("PRAGMA user_version = 99")
    report = store_report(paths)
    assert (report.state, report.restore_command) == ("newer", None)
    assert "`mash upgrade`" in (report.problem or "")


def test_a_full_disk_is_said_with_what_is_free(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(paths) as store:
        save(store, 1)
    for module in (checks, room):
        monkeypatch.setattr(module, "free_bytes", lambda _: 5)
    report = store_report(paths)
    assert (report.state, report.free_bytes) == ("full", 5)
    assert "5 bytes free" in (report.problem or "")
    assert report.counts["receipts"] == 1


@pytest.mark.spec("R-182")
def test_what_others_may_read_is_named(paths: Paths) -> None:
    with opened(paths) as store:
        save(store, 1)
        made = backup.make(store, paths.backups, NOW)
    os.chmod(made.path, 0o644)
    os.chmod(paths.data, 0o750)  # noqa: S103
    assert store_report(paths).too_open == (paths.data, made.path)


def test_the_ordinary_home_is_restored_by_the_bare_command(tmp_path: Path) -> None:
    from mash_plugin.store.open import restore_line

    data = str(tmp_path)
    assert restore_line(Paths(data, data, data, home=None)) == "mash restore"
