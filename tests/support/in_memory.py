"""A place in memory for files that no test needs on a disk: writing them there costs half."""

import os
import shutil
from pathlib import Path

MEMORY = "/dev/shm"
ENOUGH = 1 << 30
"""A container may have less; there memory is needed for more than this."""


def place_beside(otherwise: Path) -> Path:
    """Where there is memory enough, a folder in it that everybody may write to."""
    is_there = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ENOUGH
    return Path(MEMORY) if is_there else otherwise
