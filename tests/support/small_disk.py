"""A file system of a few megabytes of our own: really full, really read-only.

Mounting needs root. An ordinary user's run does it as the root of a user namespace.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = 4096
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="root-only: mounts a file system")


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mounted at the new folder until the end; then it is gone, whoever holds it."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "mash-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, timeout=30)
    if done.returncode:
        pytest.skip(f"root-only: this root may not mount ({done.stderr.strip()})")
    try:
        yield folder
    finally:
        is_held = subprocess.run(["umount", str(folder)], timeout=30).returncode
        if is_held:
            subprocess.run(["umount", "-l", str(folder)], timeout=30)
    assert not is_held, f"something still holds a file of {folder}"


def fill(disk: Path, *, but: int = 0) -> Path:
    """Take all room but so many bytes; the file that holds it."""
    filler = disk / "filler"
    with open(filler, "ab", buffering=0) as file:
        try:
            while file.write(bytes(BLOCK)) == BLOCK:
                pass
        except OSError:
            pass
        if but:
            file.truncate(max(0, file.tell() - but))
    return filler


def pass_in_a_namespace(tests: str, folder: Path) -> None:
    """Run the tests of that file as root of a user namespace, for a user who is none."""
    unshare = shutil.which("unshare")
    probe = [unshare or "unshare", "-rm", "true"]
    if not unshare or subprocess.run(probe, capture_output=True, timeout=30).returncode:
        pytest.skip("root-only: this kernel gives ordinary users no namespaces")
    command = [unshare, "-rm", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += [f"--basetemp={folder / 'inner'}", tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
