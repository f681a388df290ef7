"""Replace a small file whole: a reader sees the old one or the new one."""

import os
import stat
from pathlib import Path


def replace_file(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write it beside itself and rename; a link that leads to it stays.

    `mode` None: that of the file that is there, else for its owner alone.
    """
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if mode is None:
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
    temporary = real.with_name(f".{real.name}.mash-{os.getpid()}")
    try:
        temporary.touch(0o600)
        temporary.write_bytes(content)
        temporary.chmod(mode)
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
