"""A memory that another user could have prepared is not taken for the person's own."""

import json
import os
from pathlib import Path

import pytest

from mash_plugin import paths
from mash_plugin.errors import UnsafePlace
from mash_plugin.paths import find_paths
from mash_plugin.store.open import open_store

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's folder")
NOBODY = 65_534


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_home_that_anybody_may_fill_is_refused(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "mash"
    home.mkdir()
    home.chmod(mode)
    with pytest.raises(UnsafePlace, match="chmod 700"):
        find_paths({"MASH_HOME": str(home)})
    home.chmod(0o775)  # what a group of one's own makes of new folders
    assert find_paths({"MASH_HOME": str(home)}).home == str(home)


def test_a_home_inside_a_clone_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "memory")
    for home in (tmp_path / "memory", tmp_path / "not-yet", tmp_path / "link"):
        with pytest.raises(UnsafePlace, match="git work tree"):
            find_paths({"MASH_HOME": str(home)})


@needs_root
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    with pytest.raises(UnsafePlace, match="belongs to user 65534"):
        find_paths({"MASH_HOME": str(tmp_path)})


@needs_root
def test_a_data_folder_of_another_user_is_not_opened(tmp_path: Path) -> None:
    place = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    Path(place.data).mkdir(parents=True)
    os.chown(place.data, NOBODY, NOBODY)
    with pytest.raises(UnsafePlace, match="belongs to user 65534"):
        open_store(place, 0)
    assert os.listdir(place.data) == []


@needs_root
def test_pins_of_another_user_choose_no_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "passwd_home", lambda: str(tmp_path))
    pins = tmp_path / ".mash" / "paths.json"
    pins.parent.mkdir()
    pins.write_text(json.dumps({"config": "/planted", "data": "/planted"}))
    assert find_paths({}).data == "/planted"
    os.chown(pins, NOBODY, NOBODY)
    assert find_paths({}).config_file == str(tmp_path / ".config" / "mash" / "config.toml")
    assert find_paths({}).data == str(tmp_path / ".local" / "share" / "mash")
