"""The parsed settings that one daemon leaves to the next."""

import json
import os
import time
from pathlib import Path

import pytest

from mash_plugin.daemon.kept_settings import read_kept, settings_in_force
from mash_plugin.daemon.node import Node
from mash_plugin.paths import find_paths
from tests.conftest import NOW


class Home:
    """A settings file that was written a minute ago, and what is kept of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = folder / "config.toml"
        self.kept = folder / "settings.json"
        now = time.time() + 60
        monkeypatch.setattr(time, "time", lambda: now)

    def read(self) -> tuple[object, str | None]:
        return read_kept(str(self.config), str(self.kept))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


def test_a_file_that_stayed_as_it_was_is_not_parsed_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.config.write_text('[projects]\ndeny = ["/w/shop"]\n')
    first = home.read()
    assert first == ({"projects": {"deny": ["/w/shop"]}}, None)
    monkeypatch.delattr("mash_plugin.daemon.kept_settings.read_tables")
    assert home.read() == first
    assert home.kept.stat().st_mode & 0o777 == 0o600


def test_a_changed_file_is_parsed_again(home: Home) -> None:
    home.config.write_text("[records]\ncapture = true\n")
    home.read()
    was = home.config.stat()
    home.config.write_text("[records]\ncapture = null\n")
    os.utime(home.config, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert "config.toml" in str(home.read()[1])
    home.config.write_text("[records]\ncapture = false\n")
    assert home.read() == ({"records": {"capture": False}}, None)


def test_a_file_that_was_just_written_is_parsed_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.config.write_text("[records]\ncapture = true\n")
    was = home.config.stat()
    monkeypatch.setattr(time, "time", lambda: was.st_ctime + 0.5)
    home.read()
    monkeypatch.setattr("mash_plugin.daemon.kept_settings.stamp_of", lambda _: tuple(was))
    home.config.write_text("[records]\ncapture = 'off'\n")
    assert home.read() == ({"records": {"capture": "off"}}, None)


@pytest.mark.row(28)
@pytest.mark.parametrize("age_s", [0.5, 60])
def test_what_a_broken_file_said_before_holds_for_the_next_daemon(
    home: Home, monkeypatch: pytest.MonkeyPatch, age_s: float
) -> None:
    home.config.write_text('[projects]\ndeny = ["/w/client"]\n')
    moment = home.config.stat().st_ctime
    monkeypatch.setattr(time, "time", lambda: moment + age_s)
    home.read()
    home.config.write_text('[projects\ndeny = ["/w/client"]\n')
    for _ in range(2):
        tables, problem = home.read()
        assert tables == {"projects": {"deny": ["/w/client"]}}
        assert "config.toml" in str(problem)
    home.config.unlink()
    assert home.read() == (None, None)


def test_a_daemon_that_starts_over_a_broken_file_leaves_alone_what_was_denied(
    tmp_path: Path,
) -> None:
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    config = Path(paths.config_file)
    config.parent.mkdir(parents=True)
    Path(paths.run).mkdir(mode=0o700)
    for text, problem in (("", ""), ("[records", "the settings of before are still used")):
        config.write_text(f'{text}\n[projects]\ndeny = ["/w/client"]\n')
        node = Node(paths, NOW, {})
        found = node.settings({})
        node.close()
        assert found.deny == ("/w/client",)
        assert problem in (found.problem or "")
        assert found.capture
    assert settings_in_force(paths, {}) == found


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"stamp": 1}', '{"tables": {"projects": {}}}', "\0"]
)
def test_what_is_kept_and_broken_is_not_believed(home: Home, text: str) -> None:
    home.config.write_text("[records]\ncapture = false\n")
    home.kept.write_text(text)
    assert home.read() == ({"records": {"capture": False}}, None)


def test_kept_tables_of_another_kind_are_not_believed(home: Home) -> None:
    home.config.write_text("[records]\ncapture = false\n")
    home.read()
    home.kept.write_text(json.dumps(json.loads(home.kept.read_text()) | {"tables": ["/w"]}))
    assert home.read() == ({"records": {"capture": False}}, None)


def test_a_broken_file_a_missing_one_and_one_with_dates_are_never_kept(home: Home) -> None:
    assert home.read() == (None, None)
    for text in ("[records", "at = 2026-11-30T10:00:00Z\n"):
        home.config.write_text(text)
        home.read()
        assert not home.kept.exists()


def test_a_folder_that_cannot_be_written_costs_nothing(home: Home) -> None:
    home.config.write_text("[records]\ncapture = false\n")
    home.kept.mkdir()
    assert home.read() == ({"records": {"capture": False}}, None)
