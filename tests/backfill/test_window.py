"""The start of the window is kept once; what else stands in the file is left alone."""

from pathlib import Path

import pytest

from mash_plugin.backfill.window import WINDOW_MS, keep_since, saved_since
from mash_plugin.config import read_settings
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import Paths, find_paths

NOW = 1_796_100_000_000
DAY_MS = 86_400_000


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths({"MASH_HOME": str(tmp_path / "mash")})


@pytest.mark.spec("R-145")
def test_a_later_run_covers_the_window_of_the_first(paths: Paths) -> None:
    assert saved_since(paths, NOW) == NOW - WINDOW_MS
    assert not Path(paths.config_file).exists()
    assert keep_since(paths, NOW) == NOW - WINDOW_MS
    assert keep_since(paths, NOW + DAY_MS) == NOW - WINDOW_MS
    assert "delete the line" in Path(paths.config_file).read_text()
    assert read_settings(paths.config_file, {}).warnings == ()


@pytest.mark.spec("R-145")
def test_without_the_kept_line_the_window_is_three_days_again(paths: Paths) -> None:
    keep_since(paths, NOW)
    Path(paths.config_file).write_text("[records]\n")
    assert saved_since(paths, NOW + DAY_MS) == NOW + DAY_MS - WINDOW_MS


def test_other_lines_and_comments_of_the_file_are_kept(paths: Paths) -> None:
    before = '# mine\n[records]\ncapture = false # quiet\n\n[projects]\ndeny = ["/a"]\n'
    Path(paths.config_file).parent.mkdir(parents=True)
    Path(paths.config_file).write_text(before)
    keep_since(paths, NOW)
    lines = Path(paths.config_file).read_text().splitlines()
    assert [line for line in lines if "backfill_since" not in line] == before.splitlines()


@pytest.mark.parametrize("value", ['"3 days"', "-1", "true"])
def test_a_value_that_is_no_moment_does_nothing_and_is_warned_of(paths: Paths, value: str) -> None:
    Path(paths.config_file).parent.mkdir(parents=True)
    Path(paths.config_file).write_text(f"[records]\nbackfill_since = {value}\n")
    assert saved_since(paths, NOW) == NOW - WINDOW_MS
    (warning,) = read_settings(paths.config_file, {}).warnings
    assert "must be Unix milliseconds" in warning


@pytest.mark.parametrize("text", ["records = 3\n", "[records\n"])
def test_a_broken_file_is_left_alone(paths: Paths, text: str) -> None:
    Path(paths.config_file).parent.mkdir(parents=True)
    Path(paths.config_file).write_text(text)
    with pytest.raises(InvalidArgument, match=r"config\.toml"):
        keep_since(paths, NOW)
    assert Path(paths.config_file).read_text() == text
