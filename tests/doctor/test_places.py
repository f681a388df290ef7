"""Folders and files that are open to others, or are not what they should be."""

import os
import stat
from pathlib import Path

import pytest

from mash_plugin.doctor import places
from tests.doctor.examined import fix, mend, named
from tests.doctor.machines import machine_at
from tests.support.homes import Home

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="root-only: gives files to another user")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_open_run_folder_is_closed_by_the_printed_command_and_by_fix(home: Home) -> None:
    run = home.mash_home / "run"
    for close in (mend, fix):
        run.chmod(0o755)
        close(home, "places", "run-folder-open")
        assert mode_of(run) == 0o700
    run.chmod(0o755)
    found = named(home, "places", "run-folder-open")
    assert found["severity"] == "error"
    assert "0755" in found["why"]
    assert found["next"] == f"chmod 700 {run}"


def test_a_file_in_place_of_the_run_folder_is_moved_away(home: Home) -> None:
    home.mash("daemon", "stop")
    run = home.mash_home / "run"
    run.rename(home.mash_home / "before")
    run.write_text("")
    found = mend(home, "places", "run-folder-not-a-folder")
    assert "not a folder" in found["what"]
    assert home.mash("status").code == 0


@pytest.mark.parametrize("name", ["data", "data/backups"])
def test_what_is_no_folder_in_place_of_the_memory_or_its_copies_is_moved_away(
    home: Home, name: str
) -> None:
    home.mash("daemon", "stop")
    place = home.mash_home / name
    if place.exists():
        place.rename(home.mash_home / "before")
    place.symlink_to("/nowhere")
    found = mend(home, "places", "data-folder-not-a-folder")
    assert "not a folder" in found["what"]
    assert home.mash("backup", "make").code == 0


def test_a_place_where_nothing_can_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "mash"
    home.mkdir()
    assert list(places.check_writable(machine_at(tmp_path))) == []
    monkeypatch.setattr(os, "access", lambda path, _: path != str(home))
    (found,) = places.check_writable(machine_at(tmp_path))
    assert (found.name, found.severity) == ("folder-not-writable", "error")
    assert found.next == f"chmod u+rwx {home}"


OWN_FILES = (
    "config.toml data/records.db data/records.db-open data/records.db-reserve data/chats.db"
    " data/setup.json run/daemon.lock run/spawn.lock run/daemon.log run/settings.json"
).split()


def test_whatever_stands_in_place_of_a_file_of_ours_is_named(tmp_path: Path) -> None:
    for number, name in enumerate(OWN_FILES):
        place = tmp_path / "mash" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (os.mkfifo, os.mkdir)[number % 2](place)
    found = list(places.check_files(machine_at(tmp_path)))
    kinds = ("pipe", "folder")
    assert sorted(one.what for one in found) == sorted(
        f"{tmp_path}/mash/{name} is a {kinds[number % 2]}, not a regular file"
        for number, name in enumerate(OWN_FILES)
    )
    assert {one.severity for one in found} == {"error"}


@pytest.mark.parametrize("name", ["config.toml", "data/records.db", "data/records.db-open"])
def test_a_pipe_in_place_of_a_file_is_told_and_holds_up_nobody(
    home: Home, tmp_path: Path, name: str
) -> None:
    home.mash("daemon", "stop")
    file = home.mash_home / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    told = f"{file} is a pipe, not a regular file"
    assert named(home, "places", "not-a-file")["what"] == told
    assert told.replace(" is", ": is") in (shown := home.mash("status").out) or told in shown
    assert home.mash("bug-report", "--out", str(tmp_path / "report.tar.gz")).code == 0
    assert home.mash("uninstall", "--dry-run").code == 0
    mend(home, "places", "not-a-file")
    home.mash("daemon", "stop")
    assert home.mash("status").code == 0


@pytest.mark.row(8)
def test_a_file_in_place_of_the_socket_is_moved_away(home: Home) -> None:
    home.mash("daemon", "stop")
    (home.mash_home / "run/s.sock").write_text("")
    mend(home, "places", "socket-not-a-socket")
    assert home.mash("status").code == 0


def test_an_open_socket_is_closed(home: Home) -> None:
    home.mash("daemon", "start")
    socket = home.mash_home / "run/s.sock"
    socket.chmod(0o666)
    found = mend(home, "places", "socket-open")
    assert found["severity"] == "warning"
    assert mode_of(socket) == 0o600
    socket.chmod(0o666)
    fix(home, "places", "socket-open")
    assert mode_of(socket) == 0o600


def test_readable_memory_is_closed_and_only_the_rights_of_others_go(home: Home) -> None:
    store, data = home.mash_home / "data/records.db", home.mash_home / "data"
    for close in (mend, fix):
        store.chmod(0o644)
        data.chmod(0o755)
        close(home, "places", "memory-open")
        assert (mode_of(store), mode_of(data)) == (0o600, 0o700)


@pytest.mark.parametrize(
    "text",
    [
        '[group]\ndsn = "postgresql://ann:hunter2@host.example/memory"\n',
        '[group]\npassword = "hunter2"\n',
        'note = "ghp_' + "a1B2" * 9 + '"\n',
    ],
)
def test_settings_that_hold_a_secret_are_closed_to_others(home: Home, text: str) -> None:
    config = home.mash_home / "config.toml"
    config.write_text(text)
    config.chmod(0o644)
    found = mend(home, "places", "secret-open")
    assert "hunter2" not in str(found)
    assert mode_of(config) == 0o600


def test_the_file_of_a_password_is_closed_and_plain_settings_may_be_read(home: Home) -> None:
    config, password = home.mash_home / "config.toml", home.mash_home / "dsn"
    password.write_text("postgresql://host.example/memory")
    password.chmod(0o640)
    config.write_text(f'[group]\ndsn_file = "{password}"\n')
    config.chmod(0o644)
    fix(home, "places", "secret-open")
    assert (mode_of(password), mode_of(config)) == (0o600, 0o644)


@needs_root
def test_a_folder_of_another_user_is_named_with_the_command_that_takes_it_back(home: Home) -> None:
    data = home.mash_home / "data"
    os.chown(data, 12345, -1)
    found = named(home, "places", "data-of-another")
    assert "12345" in found["what"]
    assert found["next"] == f"sudo chown -R $(id -u) {data}"
    home.run("sh", "-c", found["next"].removeprefix("sudo "))
    assert data.stat().st_uid == os.getuid()


def test_a_missing_note_of_the_places_asks_for_init(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "pin_file", lambda: str(tmp_path / "paths.json"))
    machine = machine_at(tmp_path)
    ordinary = machine_at(tmp_path, home=None)
    assert [one.name for one in places.check_pins(machine)] == ["places"]
    (missing,) = places.check_pins(ordinary)
    assert (missing.name, missing.next) == ("pins-missing", "mash init")
    pins = tmp_path / "paths.json"
    for broken in ("", "[]", "{}", '{"data": "here", "config": "/there"}'):
        pins.write_text(broken)
        (unreadable,) = places.check_pins(ordinary)
        assert (unreadable.name, unreadable.severity) == ("pins-unreadable", "error")
        assert unreadable.next == f"mv {pins} {pins}.moved && mash init"
    pins.write_text('{"data": "/here", "config": "/there"}')
    assert [one.name for one in places.check_pins(ordinary)] == ["places"]


@needs_root
@pytest.mark.row(15)
def test_a_run_folder_of_another_user_is_moved_away(home: Home) -> None:
    run = home.mash_home / "run"
    run.mkdir(mode=0o700, exist_ok=True)
    os.chown(run, 12345, -1)
    found = mend(home, "places", "run-folder-of-another")
    assert "belongs to user 12345" in found["what"]
    assert home.mash("status").code == 0
