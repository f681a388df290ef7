"""`mash status` in a project: what is switched off there, and by which switch."""

import json
from pathlib import Path

import pytest

from tests.support.homes import Home
from tests.support.transcripts import write_repository


def lines_of(home: Home, folder: Path) -> list[str]:
    done = home.run("sh", "-c", f"cd '{folder}' && mash status")
    assert done.code == 0, done
    return done.out.splitlines()


def test_status_tells_what_is_off_in_the_current_folder(fresh: Home, tmp_path: Path) -> None:
    folder, other = tmp_path / "shop", tmp_path / "other"
    for made in (folder, other, fresh.mash_home):
        made.mkdir(exist_ok=True)
    assert lines_of(fresh, folder)[-1] == "Switched off: nothing"
    marker, config = folder / ".mash", fresh.mash_home / "config.toml"
    marker.write_text("capture = off\nrecal = off\n")
    lines = lines_of(fresh, folder)
    for what in ("saving notes", "records in hooks"):  # nobody knows what `recal` was to mean
        assert f"Switched off in {folder}: {what} ({marker} says so)" in lines
    assert any(line.startswith(f"PROBLEM in {marker}: 'recal = off'") for line in lines)
    assert lines[-1] == "Switched off for all projects: nothing"
    doctor = fresh.run("sh", "-c", f"cd '{folder}' && mash doctor").out
    assert f"{marker}: 'recal = off'" in " ".join(doctor.split())
    config.write_text(f'[projects]\ndeny = ["{folder}", "github.com/a/b"]\n')
    named = f"Projects under deny: {folder}, github.com/a/b"
    why = f"everything ([projects] deny in {config} names {folder})"
    lines = lines_of(fresh, folder)
    assert named in lines
    assert f"Switched off in {folder}: {why}" in lines
    lines = lines_of(fresh, other)
    assert named in lines
    assert not any(line.startswith("Switched off in") for line in lines)


@pytest.mark.parametrize("marker", ["", "off\n", "group = off\n", "grup = off\n"])
def test_what_a_project_keeps_from_a_group_is_told_with_all_else(
    fresh: Home, tmp_path: Path, marker: str
) -> None:
    folder = write_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    (folder / ".mash").write_text(marker)
    fresh.mash_home.mkdir(mode=0o700, exist_ok=True)
    (fresh.mash_home / "config.toml").write_text('[group]\ndsn_file = "group.dsn"\n')
    told = f"Switched off in {folder}: publishing to the group and recall from it ({folder}/.mash"
    assert any(line.startswith(told) for line in lines_of(fresh, folder))
    doctor = fresh.run("sh", "-c", f"cd '{folder}' && mash doctor").out
    assert f"in {folder} nothing goes to the group or comes from it" in " ".join(doctor.split())


def test_a_folder_inside_a_project_is_told_not_to_be_one(fresh: Home, tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    (clone / "secret").mkdir()
    fresh.mash_home.mkdir(exist_ok=True)
    config = fresh.mash_home / "config.toml"
    config.write_text(f'[projects]\ndeny = ["{clone}/secret", "{tmp_path}", "{clone}/"]\n')
    named = f"projects.deny: '{clone}/secret' lies inside the project {clone} and does nothing"
    for command in ("status", "doctor"):
        out = " ".join(fresh.mash(command).out.split())
        assert named in out
        assert out.count("does nothing") == 1


def test_a_file_that_cannot_be_read_is_all_that_status_says_of_the_settings(fresh: Home) -> None:
    fresh.mash("daemon", "start")
    config = fresh.mash_home / "config.toml"
    config.write_text("[records]\ncaptrue = false\n")
    assert "records.captrue" in fresh.mash("status").out
    config.write_text("[records\n")
    shown = fresh.mash("status").out
    assert "settings cannot be read" in shown
    assert "captrue" not in shown


def test_a_store_that_is_gone_is_told_with_the_command_that_brings_it_back(told: Home) -> None:
    assert told.mash("status").code == 0
    for file in (told.mash_home / "data").glob("records.db*"):
        file.unlink()
    done = told.mash("status", "--json")
    body = json.loads(done.out)
    assert (done.code, body["problem"]["code"], body["store"]["state"]) == (
        *(1, "store_damaged"),
        "missing",
    )
    line = body["problem"]["details"]["restore"]
    (problem,) = [x for x in told.mash("status").out.splitlines() if x.startswith("PROBLEM")]
    assert problem.endswith(f"To repair: {line}.")
    doctor = json.loads(told.mash("doctor", "--json", "--category", "store").out)["findings"]
    assert [(one["name"], one["next"]) for one in doctor] == [("store-missing", line)]
    assert told.run("sh", "-c", line).code == 0
    assert "1 record," in told.mash("status").out
    assert told.mash("status").code == 0


def test_a_store_that_was_never_filled_is_begun_anew_by_the_printed_command(fresh: Home) -> None:
    fresh.mash("daemon", "start")
    for file in (fresh.mash_home / "data").glob("records.db*"):
        file.unlink()
    assert "To repair: mash daemon restart." in fresh.mash("status").out
    fresh.mash("daemon", "restart")
    assert fresh.mash("status").code == 0


def test_a_store_that_was_written_over_is_told_though_the_daemon_has_not_met_it(
    fresh: Home,
) -> None:
    fresh.mash("daemon", "start")
    with (fresh.mash_home / "data/records.db").open("r+b") as file:
        file.write(b"x" * 4096)
    done = fresh.mash("status")
    assert done.code == 1
    (problem,) = [x for x in (done.out + done.err).splitlines() if "is damaged" in x]
    assert "mash doctor" in problem


def test_status_and_doctor_say_the_same_of_settings_that_cannot_be_read(
    fresh: Home, tmp_path: Path
) -> None:
    folder = write_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    fresh.mash_home.mkdir(mode=0o700, exist_ok=True)
    config = fresh.mash_home / "config.toml"
    config.write_text(f'[projects]\ndeny = ["{folder}"]\n')
    lines_of(fresh, folder)
    config.write_text("[projects\n")
    kept = fresh.mash_home / "run/settings.json"
    before = "the settings of before are still used"
    for daemon, used, off in (
        ("that knew them", before, True),
        ("that starts", before, True),
        ("that never knew them", "the defaults", False),
    ):
        if daemon != "that knew them":
            fresh.mash("daemon", "stop")
        if daemon == "that never knew them":
            kept.unlink()
        done = fresh.mash("status", cwd=folder)
        assert done.code == 1
        doctor = fresh.mash("doctor", "--category", "settings", cwd=folder)
        assert used in done.out
        assert used in " ".join(doctor.out.split())
        assert (f"Switched off in {folder}: everything" in done.out) is off
        assert (f"in {folder} everything is off" in " ".join(doctor.out.split())) is off
        assert used in " ".join(fresh.mash("projects", cwd=folder).out.split())
