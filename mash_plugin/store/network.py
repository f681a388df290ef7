"""Whether a folder lies on another machine, where SQLite's locks and its log are not safe.

A new store is refused there, when `mash init` looks or the daemon makes the file. One that is
there already is opened as ever: that costs a start nothing, and `mash doctor` tells of it. What
a host lends to its guest (virtiofs, 9p) is of this machine.
"""

import os

from mash_plugin.errors import UnsafePlace
from mash_plugin.paths import Paths

KINDS = frozenset(
    "nfs nfs4 cifs smb2 smb3 smbfs afs ncpfs ncp ceph glusterfs lustre gpfs beegfs davfs webdav"
    " afpfs".split()
)
FUSE_KINDS = frozenset(
    "sshfs s3fs rclone gcsfuse davfs davfs2 curlftpfs glusterfs ceph-fuse smbnetfs".split()
)
SET_UP_ELSEWHERE = "MASH_HOME=LOCAL_FOLDER mash init"
MOUNTS = "/proc/self/mountinfo"


def refuse_network(paths: Paths) -> None:
    """Raise UnsafePlace where a new store would lie on a network file system."""
    kind = network_kind(paths.data)
    if kind:
        raise UnsafePlace(
            f"{paths.data} lies on a network file system ({kind}): memory can be lost there, for"
            f" locks and SQLite's log are not safe. Choose a folder on a disk of this machine:"
            f" {SET_UP_ELSEWHERE}"
        )


def network_kind(folder: str) -> str | None:
    """The kind of network file system that a folder, there or not yet, lies on; else None."""
    kind = kind_of(os.path.realpath(folder), mounts())
    return kind if kind and is_network(kind) else None


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
        point = _unescaped(fields[4])
        is_within = path == point or path.startswith(point.rstrip("/") + "/")
        if is_within and len(point) >= len(best):
            best, kind = point, kinds[0]
    return kind


def is_network(kind: str) -> bool:
    """Whether another machine may write there too."""
    name = kind.lower()
    return name in KINDS or name.removeprefix("fuse.") in FUSE_KINDS


def _unescaped(point: str) -> str:
    """A mount point without the kernel's octal numbers for blanks and backslashes."""
    parts = point.split("\\")
    return parts[0] + "".join(
        chr(int(part[:3], 8)) + part[3:] if part[:3].isdigit() else f"\\{part}"
        for part in parts[1:]
    )
