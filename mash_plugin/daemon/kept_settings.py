"""What config.toml says, kept from daemon to daemon: tomllib takes a tenth of a cold start."""

import json
import os
import time
from contextlib import suppress
from typing import Any

from mash_plugin.compact_json import compact_json
from mash_plugin.config import Tables, read_tables
from mash_plugin.file_opening import open_file

SETTLED_S = 2.0
"""A file that was changed less long ago may change again within one tick of its clock."""


def read_kept(config_file: str, kept_file: str) -> tuple[Tables | None, str | None]:
    """As `read_tables`; the file is parsed only where it is not as it was when it was kept."""
    stamp = list(stamp_of(config_file))
    if not stamp:
        return read_tables(config_file)
    kept = _read(kept_file)
    if kept.get("stamp") == stamp and isinstance(kept.get("tables"), dict):
        return kept["tables"], None
    tables, problem = read_tables(config_file)
    if tables is not None and abs(time.time() - stamp[1] / 1e9) > SETTLED_S:
        with suppress(OSError, TypeError, ValueError):  # a date in it is no JSON: not kept
            _write(kept_file, compact_json({"stamp": stamp, "tables": tables}).encode())
    return tables, problem


def stamp_of(path: str) -> tuple[int, ...]:
    """Which file lies there, and as of when; nothing where none does."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb", opener=open_file) as file:
            kept = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write(path: str, content: bytes) -> None:
    temporary = f"{path}.{os.getpid()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, content)
    finally:
        os.close(handle)
    os.replace(temporary, path)
