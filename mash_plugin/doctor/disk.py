"""What the store lies on: the kind of file system, free space, and SQLite itself."""

import os
import re
import shlex
from collections.abc import Iterator

from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.program import UPGRADE

NETWORK = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs afs ncpfs ncp 9p v9fs drvfs vboxsf prl_fs virtiofs ceph"
    " glusterfs lustre gpfs beegfs davfs webdav afpfs".split()
)
"""Several machines, or a host beside its guest, may write there: SQLite's log is not safe."""
NETWORK_FUSE = ("sshfs", "s3fs", "rclone", "gcsfuse", "davfs", "curlftpfs", "glusterfs", "encfs")
LOW_BYTES = 100 * 1024 * 1024
SAFE_SQLITE = (3, 51, 3)
MOUNTS = "/proc/self/mountinfo"


def check_file_system(machine: Machine) -> Iterator[Finding]:
    """SQLite's write-ahead log needs a file system of this machine."""
    folders = dict.fromkeys((machine.paths.data, machine.paths.run))
    for folder in folders:
        kind = kind_of(os.path.realpath(folder), mounts())
        if kind and is_network(kind):
            yield on_network(machine, folder, kind)


def on_network(machine: Machine, folder: str, kind: str) -> Finding:
    """What to do about a folder on such a file system."""
    text = f"{folder} lies on a network file system ({kind})"
    why = "locks and the write-ahead log are not safe there: records can be lost"
    root = machine.paths.home
    place = shlex.quote(root or machine.paths.data)
    after = "MASH_HOME=LOCAL_FOLDER mash init" if root else "XDG_DATA_HOME=LOCAL_FOLDER mash init"
    line = f"mash daemon stop && cp -Rp {place} LOCAL_FOLDER, then {after}"
    return Finding("network-file-system", "error", text, why, line)


def check_space(machine: Machine) -> Iterator[Finding]:
    """Room for records, the index and backups."""
    data = machine.paths.data
    try:
        space = os.statvfs(data)
    except OSError:
        return
    free = space.f_bavail * space.f_frsize
    line = f"du -ah {shlex.quote(data)} | sort -h | tail"
    text = f"{free / 1e6:,.1f} MB are free at {data}"
    if machine.report.state == "full":
        why = "the disk is full: memory is read, nothing is saved; free some space"
        yield Finding("disk-full", "error", text, why, line)
    elif free < LOW_BYTES:
        why = "soon nothing will be saved; free some space"
        yield Finding("disk-low", "warning", text, why, line)
    else:
        yield Finding("space", "ok", text)


def check_sqlite(machine: Machine) -> Iterator[Finding]:
    """Versions before 3.51.3 can damage a file in a race of two connections."""
    yield sqlite_finding(machine.report.sqlite)


def sqlite_finding(version: str) -> Finding:
    """What to think of this SQLite."""
    if tuple(map(int, version.split(".")[:3])) >= SAFE_SQLITE:
        return Finding("sqlite", "ok", f"SQLite {version}")
    text = f"SQLite {version} is older than {'.'.join(map(str, SAFE_SQLITE))}"
    why = "a race between two connections can damage the file (WAL reset)"
    return Finding("sqlite-old", "warning", text, why, UPGRADE)


def mounts() -> str:
    """The kernel's list of mounts; empty where there is none."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def kind_of(path: str, listed: str) -> str | None:
    """The kind of file system that a real path lies on, by the innermost mount; the last wins."""
    best, kind = "", None
    for line in listed.splitlines():
        before, dash, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        is_within = path == point or path.startswith(point.rstrip("/") + "/")
        if is_within and len(point) >= len(best):
            best, kind = point, kinds[0]
    return kind


def is_network(kind: str) -> bool:
    """Whether another machine may write there too."""
    name = kind.lower()
    return name in NETWORK or any(name == f"fuse.{one}" for one in NETWORK_FUSE)
