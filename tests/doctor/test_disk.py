"""What the store lies on."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.cli.main import run
from mash_plugin.doctor import disk
from mash_plugin.doctor.store import check_store
from mash_plugin.errors import UnsafePlace
from mash_plugin.paths import find_paths
from mash_plugin.store import network
from mash_plugin.store.open import open_store
from tests.doctor.machines import NOW, machine_at

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="root-only: mounts a file system")
MOUNTS = """\
22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/ann/local\\040disk rw - ext4 /dev/sdb1 rw
40 22 0:50 / /mnt/c rw - 9p C: rw
41 22 0:51 / /mnt/remote rw - fuse.sshfs host:/ rw
42 22 0:52 / /data rw - ext4 /dev/sdc rw
43 42 0:53 / /data rw - cifs //host/share rw
44 22 0:54 / /shared rw - virtiofs host rw
45 22 0:55 / /back\\134slash rw - fuse.ceph-fuse ceph rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "is_network"),
    [
        ("/var/lib", "ext4", False),
        ("/home/ann/.local", "nfs4", True),
        ("/homes/ann", "ext4", False),
        ("/home/ann/local disk/mash", "ext4", False),
        ("/mnt/c/Users", "9p", False),
        ("/shared/mash", "virtiofs", False),
        ("/mnt/remote", "fuse.sshfs", True),
        ("/back\\slash/mash", "fuse.ceph-fuse", True),
        ("/data/mash", "cifs", True),
    ],
)
def test_the_innermost_mount_tells_the_kind_of_file_system(
    path: str, kind: str, is_network: bool
) -> None:
    found = network.kind_of(path, MOUNTS)
    assert found == kind
    assert network.is_network(found) is is_network


def test_an_unreadable_list_of_mounts_tells_nothing() -> None:
    assert network.kind_of("/home", "garbage\n- - -\n") is None


def mounted_at(folder: Path, kind: str) -> str:
    return MOUNTS + f"50 22 0:60 / {os.path.realpath(folder)} rw - {kind} server:/x rw\n"


def test_a_store_on_a_network_is_told_with_advice_until_it_is_moved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = machine_at(tmp_path)
    monkeypatch.setattr(network, "mounts", lambda: mounted_at(tmp_path, "nfs"))
    (found,) = disk.check_file_system(machine)
    assert (found.name, found.severity) == ("network-file-system", "error")
    assert "network file system (nfs)" in found.what
    assert "MASH_HOME=LOCAL_FOLDER mash init" in found.next
    monkeypatch.setattr(network, "mounts", lambda: MOUNTS)
    assert list(disk.check_file_system(machine)) == []


@pytest.mark.row(18)
def test_only_the_socket_on_a_network_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = machine_at(tmp_path)
    run = Path(machine.paths.run)
    monkeypatch.setattr(network, "mounts", lambda: mounted_at(run, "nfs4"))
    (found,) = disk.check_file_system(machine)
    assert (found.name, found.severity) == ("network-run-folder", "warning")


def test_a_new_store_on_a_network_is_refused_and_one_that_is_there_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = find_paths({"MASH_HOME": str(tmp_path / "mash")})
    monkeypatch.setattr(network, "mounts", lambda: mounted_at(tmp_path, "cifs"))
    with pytest.raises(UnsafePlace, match=r"network file system \(cifs\).* mash init"):
        open_store(paths, NOW)
    assert not os.path.exists(paths.store)
    monkeypatch.setattr(network, "mounts", lambda: MOUNTS)
    open_store(paths, NOW).close()
    monkeypatch.setattr(network, "mounts", lambda: mounted_at(tmp_path, "cifs"))
    open_store(paths, NOW).close()


def test_init_refuses_a_network_before_it_changes_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASH_HOME", str(tmp_path / "mash"))
    monkeypatch.setattr(network, "mounts", lambda: mounted_at(tmp_path, "fuse.sshfs"))
    assert run(["init", "--yes"]) == 1
    assert "network file system (fuse.sshfs)" in capsys.readouterr().err
    assert not (tmp_path / "mash").exists()


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("3.40.1", "sqlite-old"),
        ("3.51.2", "sqlite-old"),
        ("3.51.3", "sqlite"),
        ("3.54.1", "sqlite"),
    ],
)
def test_a_sqlite_with_the_race_is_named(version: str, name: str) -> None:
    found = disk.sqlite_finding(version)
    assert (found.name, found.next) == (name, "mash upgrade" if name == "sqlite-old" else "")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Eight megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "mash-test", str(folder)]
    if subprocess.run(mount, capture_output=True, timeout=30, check=False).returncode:
        pytest.skip("root-only: this root may not mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True, timeout=30)


@needs_root
@pytest.mark.spec("R-183")
def test_a_low_and_a_full_disk_are_told_apart_and_room_ends_it(small: Path) -> None:
    paths = find_paths({"MASH_HOME": str(small / "mash")})
    open_store(paths, NOW).close()
    (low,) = disk.check_space(machine_at(small))
    assert (low.name, low.severity) == ("disk-low", "warning")
    filler = small / "filler"
    with open(filler, "ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            pass
    (full,) = disk.check_space(machine_at(small))
    assert (full.name, full.severity) == ("disk-full", "error")
    assert "nothing is saved" in full.why
    shown = subprocess.run(["sh", "-c", full.next], capture_output=True, text=True, check=True)
    assert "records.db" in shown.stdout
    filler.unlink()
    assert [one.name for one in disk.check_space(machine_at(small))] == ["disk-low"]


@needs_root
@pytest.mark.row(18)
def test_a_read_only_disk_is_read_and_the_printed_command_makes_it_writable(small: Path) -> None:
    paths = find_paths({"MASH_HOME": str(small / "mash")})
    open_store(paths, NOW).close()
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True, timeout=30)
    (found,) = check_store(machine_at(small))
    assert (found.name, found.severity) == ("store-read-only", "error")
    assert "nothing is saved" in found.why
    line = found.next.removeprefix("sudo ")
    subprocess.run(["sh", "-c", line], check=True, timeout=30)
    assert [one.name for one in check_store(machine_at(small))] == ["store"]
