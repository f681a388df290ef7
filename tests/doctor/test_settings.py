"""Settings that cannot be read, do nothing, or silence something."""

from pathlib import Path

import pytest

from tests.doctor.examined import findings, is_gone, mend, named
from tests.support.homes import Home
from tests.support.transcripts import write_repository


def edit(script: str) -> dict[str, str]:
    """An editor that makes one change."""
    return {"EDITOR": f"sed -i {script}"}


def test_settings_that_cannot_be_read_are_shown_with_the_line_and_edited(home: Home) -> None:
    (home.mash_home / "config.toml").write_text("[records]\ncapture = on\n")
    found = mend(home, "settings", "settings-unreadable", env=edit("s/on$/true/"))
    assert found["severity"] == "error"
    assert "line 2" in found["what"]
    assert "the settings of before are still used" in found["why"]


@pytest.mark.parametrize(
    ("text", "says", "script"),
    [
        ("[records]\ncaptur = true\n", "'records.captur' is not known", "s/captur/capture/"),
        ("[recall]\nfiles = 'maybe'\n", "neither true nor false", "s/.maybe./true/"),
        ("[projects]\ndeny = ['shop']\n", "is not an absolute path", "s,shop,/work/shop,"),
        ("[privacy]\nextra_patterns = ['(']\n", "is no RE2 pattern", "s/(/x/"),
    ],
)
def test_a_setting_without_effect_is_named_and_edited(
    home: Home, text: str, says: str, script: str
) -> None:
    (home.mash_home / "config.toml").write_text(text)
    found = mend(home, "settings", "setting-without-effect", env=edit(script))
    assert found["severity"] == "warning"
    assert says in found["what"]


def test_an_unclear_line_of_a_projects_file_is_named_and_edited(home: Home, tmp_path: Path) -> None:
    clone = write_repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    (clone / ".mash").write_text("recal = off\n")
    found = mend(home, "settings", "marker-unclear", cwd=clone, env=edit("s/recal/recall/"))
    assert "'recal = off'" in found["what"]
    off = named(home, "settings", "project-off", cwd=clone)
    assert off["severity"] == "note"
    assert f"in {clone} records in hooks are off" in off["what"]
    assert str(clone / ".mash") in off["why"]
    assert off["next"] == f"${{EDITOR:-vi}} {clone}/.mash"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[records]\nenabled = false\n", "records are off"),
        ("[records]\ncapture = false\n", "saving notes are off"),
        ("[records]\nrecall = false\n", "records in hooks are off"),
        ("[recall]\nfiles = false\n", "hints at file reads are off"),
    ],
)
def test_what_the_settings_switch_off_is_one_note(home: Home, text: str, says: str) -> None:
    (home.mash_home / "config.toml").write_text(text)
    found = mend(home, "settings", "switched-off", env=edit("s/false/true/"))
    assert found["severity"] == "note"
    assert says in found["what"]


def test_what_the_shell_switches_off_is_told_with_its_variable(home: Home) -> None:
    off = {"MASH_RECORD_CAPTURE": "Off"}
    found = named(home, "settings", "switched-off-by-variable", env=off)
    assert "MASH_RECORD_CAPTURE=Off" in found["why"]
    line = f"{found['next']}; mash doctor --json --category settings"
    assert "switched-off" not in home.run("sh", "-c", line, env=off).out


def test_the_variable_of_agents_that_mash_starts_silences_hooks_and_is_told(home: Home) -> None:
    inside = {"MASH_INTERNAL": "1"}
    found = named(home, "settings", "internal-variable", env=inside)
    assert found["severity"] == "warning"
    line = f"{found['next']}; mash doctor --json --category settings"
    assert "internal-variable" not in home.run("sh", "-c", line, env=inside).out


def test_a_pause_is_told_with_the_command_that_ends_it(home: Home, tmp_path: Path) -> None:
    plain, clone = tmp_path / "plain", tmp_path / "shop"
    plain.mkdir()
    (plain / ".git").mkdir()
    (plain / ".git/HEAD").write_text("ref: refs/heads/main\n")
    write_repository(clone, "git@github.com:acme/shop.git")
    for folder in (plain, clone):
        home.mash("pause", "--project", "--for", "2h", cwd=folder)
        found = mend(home, "settings", "paused", cwd=folder)
        assert "until 20" in found["what"]
    home.mash("pause", "--project", cwd=clone)
    away = named(home, "settings", "paused")
    assert away["next"] == "in a clone of github.com/acme/shop: mash pause --off"
    assert "until you end it" in away["what"]


def test_nothing_is_told_of_settings_that_are_in_order(home: Home) -> None:
    (home.mash_home / "config.toml").write_text("[records]\ncapture = true\n")
    assert [one["name"] for one in findings(home, "settings")] == ["settings"]
    assert is_gone(home, "settings", "switched-off")


def test_settings_that_nobody_has_written_are_said_to_be_those_delivered(home: Home) -> None:
    config = home.mash_home / "config.toml"
    assert named(home, "settings", "settings")["what"] == str(config)
    config.unlink()
    told = named(home, "settings", "settings")["what"]
    assert told == f"all as delivered: there is no {config}"
