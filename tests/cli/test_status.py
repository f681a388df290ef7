"""`mash status` in a project: what is switched off there, and by which switch."""

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
