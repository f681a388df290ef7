"""What config.toml says, kept from daemon to daemon.

To parse it takes a tenth of a cold start; and while it is broken, what it said before must hold:
a project that is to be left alone is so after a slip, too.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mash_plugin.compact_json import compact_json
from mash_plugin.config import Settings, Tables, read_tables, settings_of
from mash_plugin.file_opening import open_file
from mash_plugin.paths import Paths

SETTLED_S = 2.0
"""A file that was changed less long ago may change again within one tick of its clock."""


def read_kept(config_file: str, kept_file: str) -> tuple[Tables | None, str | None]:
    """As `read_tables`; the file is parsed only where it is not as it was when it was kept.

    Of a file that cannot be read, both: what it last said, where that is known, and why.
    """
    stamp = list(stamp_of(config_file))
    if not stamp:
        return read_tables(config_file)
    kept = _read(kept_file)
    if kept.get("stamp") == stamp:
        return kept["tables"], None
    tables, problem = read_tables(config_file)
    if tables is None:
        return kept.get("tables"), problem
    is_settled = abs(time.time() - stamp[1] / 1e9) > SETTLED_S
    with suppress(OSError, TypeError, ValueError):  # a date in it is no JSON: not kept
        content = {"stamp": stamp if is_settled else [], "tables": tables}
        _write(kept_file, compact_json(content).encode())
    return tables, None


def settings_in_force(paths: Paths, switches: Mapping[str, str]) -> Settings:
    """The settings that a daemon goes by which starts now."""
    tables, problem = read_kept(paths.config_file, paths.kept_settings)
    return settings_of(paths.config_file, tables, problem, switches)


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
    is_whole = isinstance(kept, dict) and isinstance(kept.get("tables"), dict)
    return kept if is_whole else {}


def _write(path: str, content: bytes) -> None:
    temporary = f"{path}.{os.getpid()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, content)
    finally:
        os.close(handle)
    os.replace(temporary, path)
