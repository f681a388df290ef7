"""What lies in a folder already, or in the way, never gets what is written there."""

import os
import secrets
from pathlib import Path

import pytest

from mash_plugin.file_writing import replace_file, write_private
from mash_plugin.syncing import make_folder, make_private


@pytest.mark.parametrize("kind", ["link", "hard link", "file of anybody's"])
def test_what_waits_under_the_temporary_name_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _size: "0123abcd")
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    elsewhere = tmp_path / "of-somebody-else"
    elsewhere.write_bytes(b"theirs")
    for name in (".page.html.mash-4711", ".page.html.mash-0123abcd"):
        match kind:
            case "link":
                (tmp_path / name).symlink_to(elsewhere)
            case "hard link":
                (tmp_path / name).hardlink_to(elsewhere)
            case _:
                (tmp_path / name).write_bytes(b"theirs")
                (tmp_path / name).chmod(0o666)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "page.html", b"what is remembered", 0o600)
    assert not (tmp_path / "page.html").exists()
    found = [path.read_bytes() for path in tmp_path.iterdir()]
    assert set(found) == {b"theirs"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "settings.toml", b"x")
        write_private(str(tmp_path / "group.dsn"), "x")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"settings.toml": 0o600, "group.dsn": 0o600}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_folders_made_on_the_way_are_for_their_owner_alone_too(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        make_private(str(tmp_path / "mash" / "run"))
        make_folder(str(tmp_path / "share" / "mash" / "data"))
        replace_file(tmp_path / "config" / "mash" / "config.toml", b"x")
    finally:
        os.umask(before)
    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert len(folders) == 7
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
