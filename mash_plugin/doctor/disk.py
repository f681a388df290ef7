"""What the store lies on: the kind of file system, free space, and SQLite itself."""

import os
import shlex
from collections.abc import Iterator

from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.program import UPGRADE
from mash_plugin.paths import Paths
from mash_plugin.store.network import SET_UP_ELSEWHERE, network_kind

LOW_BYTES = 100 * 1024 * 1024
SAFE_SQLITE = (3, 51, 3)


def check_file_system(machine: Machine) -> Iterator[Finding]:
    """SQLite's write-ahead log needs a file system of this machine, and so does the socket."""
    paths = machine.paths
    if kind := network_kind(paths.data):
        yield on_network(paths, kind)
    elif kind := network_kind(paths.run):
        text = f"{paths.run} lies on a network file system ({kind})"
        why = "of the machines that share it, only one at a time can run a daemon"
        yield Finding("network-run-folder", "warning", text, why, SET_UP_ELSEWHERE)


def on_network(paths: Paths, kind: str) -> Finding:
    """What to do about a store on such a file system."""
    text = f"{paths.data} lies on a network file system ({kind})"
    why = "locks and the write-ahead log are not safe there: records can be lost"
    copies = ["mash daemon stop"]
    if paths.home:
        copies.append(f"cp -Rp {shlex.quote(paths.home)} LOCAL_FOLDER")
    else:
        copies += ["mkdir -p LOCAL_FOLDER", f"cp -Rp {shlex.quote(paths.data)} LOCAL_FOLDER/data"]
        if os.path.exists(paths.config_file):
            copies.append(f"cp -p {shlex.quote(paths.config_file)} LOCAL_FOLDER/config.toml")
    line = f"{' && '.join(copies)}, then {SET_UP_ELSEWHERE}"
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
    text = f"{_shown(free)} are free at {data}"
    if machine.report.state == "full":
        why = "the disk is full: memory is read, nothing is saved; free some space"
        yield Finding("disk-full", "error", text, why, line)
    elif free < LOW_BYTES:
        why = "soon nothing will be saved; free some space"
        yield Finding("disk-low", "warning", text, why, line)
    else:
        yield Finding("space", "ok", text)


def _shown(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


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
