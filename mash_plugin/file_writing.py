"""Replace a small file whole: a reader sees the old one or the new one."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from mash_plugin.syncing import make_folder, make_private, sync_file, sync_folder


def replace_file(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write it beside itself and rename; a link that leads to it stays.

    `mode` None: that of the file that is there, else for its owner alone.
    """
    real = Path(os.path.realpath(path))
    make_private(str(real.parent))
    if mode is None:
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
    _replace(real, content, mode)
    with suppress(OSError):  # it is replaced all the same, and whole after a power cut
        sync_folder(str(real.parent))


def write_private(place: str, text: str) -> None:
    """Let the file be this, for its owner alone and safe on disk. Raises OSError."""
    file = Path(place)
    make_folder(str(file.parent))
    _replace(file, text.encode(), 0o600)
    sync_folder(str(file.parent))


def _replace(file: Path, content: bytes, mode: int) -> None:
    temporary = file.with_name(f".{file.name}.mash-{secrets.token_hex(4)}")
    # In a folder of others, or of a repository, something may wait under any name: it must be new.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        # Unsynced, a power cut may leave the name with nothing in it: the person's file is gone.
        sync_file(str(temporary))
        temporary.chmod(mode)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
