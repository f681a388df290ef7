"""What `mash doctor` and `mash status` say about the record store; looks, and changes nothing."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import apsw

from mash_plugin.errors import (
    DiskFull,
    Internal,
    MashError,
    ReadOnly,
    StoreBusy,
    StoreDamaged,
    UpgradeNeeded,
)
from mash_plugin.paths import Paths
from mash_plugin.store import reserve
from mash_plugin.store.backup import Contents, backups, contents, newest_good, quick_check
from mash_plugin.store.connect import connect_frozen, connect_reading, refuse_foreign
from mash_plugin.store.faults import disk_message, translated
from mash_plugin.store.mark import is_suspect
from mash_plugin.store.migrate import refuse_newer, schema_number
from mash_plugin.store.open import refuse_if_lost, restore_line
from mash_plugin.store.room import free_bytes
from mash_plugin.store.sqlite import Connection

State = Literal["ok", "missing", "damaged", "newer", "read_only", "full"]


@dataclass(frozen=True, slots=True)
class StoreReport:
    """The store as it lies on disk, whether or not a daemon runs."""

    state: State
    path: str
    problem: str | None = None
    """What is wrong and what to do, for people; None when all is well."""
    restore_command: str | None = None
    """The exact shell command that repairs a missing or damaged store."""
    schema: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    size_bytes: int = 0
    free_bytes: int | None = None
    last_backup: str | None = None
    last_backup_at: int | None = None
    too_open: tuple[str, ...] = ()
    """Files and folders that others may read; `chmod go= PATH` closes them."""
    sqlite: str = ""
    """The SQLite that reads it: 3.51.3 and later are free of the WAL-reset race."""


def store_report(paths: Paths, *, is_thorough: bool = True) -> StoreReport:
    """Look at the store; `is_thorough` reads every page (40 ms for 17 MB), else only counts."""
    state, problem, found = _look(paths, is_thorough)
    done = backups(paths.backups)
    good = newest_good(paths.backups) if state in ("missing", "damaged") else None
    return StoreReport(
        state=state,
        path=paths.store,
        problem=problem,
        restore_command=restore_line(paths) if good else None,
        schema=found.schema if found else None,
        counts=found.counts if found else {},
        size_bytes=os.path.getsize(paths.store) if os.path.exists(paths.store) else 0,
        free_bytes=free_bytes(paths.store),
        last_backup=done[0].path if done else None,
        last_backup_at=done[0].made_at if done else None,
        too_open=_too_open(paths),
        sqlite=apsw.sqlite_lib_version(),
    )


def _look(paths: Paths, is_thorough: bool) -> tuple[State, str | None, Contents | None]:
    path = paths.store
    if not os.path.lexists(path):
        return _lost_or_new(paths)
    try:
        found = _read(path, is_thorough or is_suspect(path))
        refuse_newer(path, found.schema, schema_number("records"))
    except UpgradeNeeded as error:
        return "newer", error.message, None
    except StoreDamaged as error:
        return "damaged", error.message, None
    except MashError as error:
        return "read_only", error.message, None
    free = free_bytes(path)
    if free is not None and free < reserve.SIZE:
        return "full", disk_message(path), found
    if not (os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)):
        return "read_only", f"{path} cannot be written; memory is read, nothing is saved.", found
    return "ok", None, found


def _read(path: str, is_thorough: bool) -> Contents:
    with translated(path):
        raw = _connect(path)
        try:
            refuse_foreign(raw, path)
            problem = quick_check(raw) if is_thorough else None
            if problem:
                raise StoreDamaged(f"{path} is damaged: {problem}.")
            return contents(Connection(raw))
        finally:
            raw.close()


def _connect(path: str) -> apsw.Connection:
    try:
        with translated(path):
            raw = connect_reading(path)
            try:
                contents(Connection(raw))
            except BaseException:
                raw.close()
                raise
            return raw
    except (StoreBusy, DiskFull, Internal, ReadOnly):
        # Nothing can be made here, or a daemon on a full disk holds the file to read alone.
        return connect_frozen(path)


def _lost_or_new(paths: Paths) -> tuple[State, str, None]:
    try:
        refuse_if_lost(paths)
    except StoreDamaged as error:
        if newest_good(paths.backups):
            return "missing", error.message, None
        return "damaged", f"{error.message} No good backup lies in {paths.backups}.", None
    return "missing", f"{paths.store} is not there; it is made when the daemon starts.", None


def _too_open(paths: Paths) -> tuple[str, ...]:
    kept = [b.path for b in backups(paths.backups)]
    names = [paths.data, paths.run, paths.backups, paths.store, paths.store + "-wal", *kept]
    return tuple(n for n in names if os.path.exists(n) and os.stat(n).st_mode & 0o077)
