"""The daily copies of the store: that there are some, that they are new, that they open."""

import os
import time
from collections.abc import Iterator
from shlex import quote
from typing import Literal

from mash_plugin.doctor.finding import Finding, Repair, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.words import own_words
from mash_plugin.errors import LocalFailure, UpgradeNeeded
from mash_plugin.render.text import local_date
from mash_plugin.store.backup import Backup, backups, verify

DAY_MS = 24 * 60 * 60 * 1000
OLD_MS = 3 * DAY_MS
MAKE = "mash backup make"


def check_backups(machine: Machine) -> Iterator[Finding]:
    """What a lost store would be brought back from."""
    if not machine.has_store:
        return
    good: list[Backup] = []
    end = time.monotonic() + machine.record_time_s
    for backup in backups(machine.paths.backups):
        if good and time.monotonic() > end:
            break  # the newest can be restored from; reading large ones takes long
        fault = _fault(backup)
        if fault is None:
            good.append(backup)
        else:
            yield _unreadable(backup, fault)
    if good:
        yield from _age(machine, good[0])
    elif machine.report.counts.get("records"):
        text = f"no backup lies in {machine.paths.backups}"
        why = "a damaged store could not be brought back; one is made on each day of use"
        is_new = _first_saved(machine) > machine.now - DAY_MS
        severity: Severity = "note" if is_new else "warning"
        repair = Repair(lambda: make_backup(machine))
        yield Finding("backup-missing", severity, text, why, MAKE, repair)
    else:
        yield Finding("backup", "ok", "there is nothing yet that a backup would keep")


def make_backup(machine: Machine) -> str:
    """Make one now, in the daemon, which alone writes."""
    from mash_plugin import client

    made = client.call("backup", {}, paths=machine.paths)
    return f"made {made['path']}"


def _age(machine: Machine, newest: Backup) -> Iterator[Finding]:
    shown = local_date(newest.made_at)
    age = machine.now - newest.made_at
    # Its name tells seconds.
    is_behind = _last_saved(machine) > newest.made_at + 999
    if age > OLD_MS and is_behind:
        text = f"the newest backup is of {shown}; records were saved since"
        why = "they would be lost with the store"
        repair = Repair(lambda: make_backup(machine))
        yield Finding("backup-old", "warning", text, why, MAKE, repair)
    else:
        yield Finding("backup", "ok", f"{newest.path} of {shown}")


def _first_saved(machine: Machine) -> int:
    return _saved(machine, "min")


def _last_saved(machine: Machine) -> int:
    return _saved(machine, "max")


def _saved(machine: Machine, which: Literal["min", "max"]) -> int:
    with machine.reading(machine.paths.store) as db:
        row = db.one(f"SELECT {which}(recorded_at) FROM revisions")  # noqa: S608 - one of the two
    return int(row[0]) if row and row[0] else 0


def _fault(backup: Backup) -> str | None:
    try:
        verify(backup.path)
    except UpgradeNeeded:
        return None  # whole, and for a newer version to read
    except LocalFailure as error:
        return error.message
    return None


def _unreadable(backup: Backup, fault: str) -> Finding:
    aside = f"{backup.path}.unreadable"

    def set_aside() -> str:
        os.rename(backup.path, aside)
        return f"renamed {backup.path} to {aside}"

    return Finding(
        "backup-unreadable",
        "warning",
        own_words(fault),
        "it cannot be restored from, and takes the place of one that can",
        f"mv {quote(backup.path)} {quote(aside)}",
        Repair(set_aside),
    )
