"""The switches of tests, planted by a project's settings, open nothing of an installed mash."""

import os
import sys
from pathlib import Path

import pytest

from mash_plugin import paths
from mash_plugin.daemon import start
from mash_plugin.daemon.start import drop_planted_switches
from mash_plugin.errors import UnsafePlace
from mash_plugin.paths import OBEYS_TESTS, find_paths, obeys_tests
from mash_plugin.throughline.clock import now_ms

LONG_AGO = "1000000000000"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a mash that was installed, in whose environment this runs."""
    (tmp_path / "package" / "plugin").mkdir(parents=True)
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "package" / "paths.py"))
    data = tmp_path / "mash" / "data"
    monkeypatch.setattr(sys, "prefix", str(data / "envs" / "1.0.0-abc"))
    monkeypatch.setenv("MASH_TESTING", "1")
    assert not obeys_tests()
    return data


def test_an_installed_daemon_opens_no_memory_that_the_switches_lead_to(
    installed: Path, tmp_path: Path
) -> None:
    with pytest.raises(UnsafePlace, match="MASH_TESTING=1 is for a checkout"):
        drop_planted_switches(find_paths({"MASH_HOME": str(tmp_path / "unpacked")}))


@pytest.mark.parametrize("home", ["its own", "none"])
def test_an_installed_daemon_serves_its_own_memory_without_them(installed: Path, home: str) -> None:
    given = {"MASH_HOME": str(installed.parent)} if home == "its own" else {}
    drop_planted_switches(find_paths(given))
    assert "MASH_TESTING" not in os.environ


def test_an_installation_that_tests_made_obeys_them(installed: Path) -> None:
    (installed / "envs").mkdir(parents=True)
    (installed / "envs" / OBEYS_TESTS).touch()
    drop_planted_switches(find_paths({"MASH_HOME": str(installed.parent)}))
    assert os.environ["MASH_TESTING"] == "1"


def test_a_checkout_obeys_them_over_a_memory_of_its_own_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASH_TESTING", "1")
    drop_planted_switches(find_paths({"MASH_HOME": str(tmp_path / "mash")}))
    assert os.environ["MASH_TESTING"] == "1"
    drop_planted_switches(find_paths({}))
    assert "MASH_TESTING" not in os.environ


@pytest.mark.usefixtures("installed")
def test_an_installed_working_memory_lives_in_no_made_up_time() -> None:
    assert now_ms({"MASH_TESTING": "1", "MM_TEST_NOW_MS": LONG_AGO}) > int(LONG_AGO)


def test_a_daemon_looks_at_them_before_it_makes_anything(
    installed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MASH_HOME", str(tmp_path / "unpacked"))
    monkeypatch.setattr(os, "closerange", lambda *_: None)
    before = os.umask(0o022)
    try:
        assert start.main([]) == 1
    finally:
        os.umask(before)
    assert "MASH_TESTING=1 is for a checkout" in capsys.readouterr().err
    assert not (tmp_path / "unpacked").exists()
