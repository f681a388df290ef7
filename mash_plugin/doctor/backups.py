"""The daily copies of the store: that there are some, that they are new, that they open."""

import os
import time
from collections.abc import Iterator
from shlex import quote

from mash_plugin.doctor.finding import Finding, Repair, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.words import own_words
from mash_plugin.errors import LocalFailure, UpgradeNeeded
from mash_plugin.render.text import local_date
from mash_plugin.store.backup import Backup, backups, verify
from mash_plugin.store.queries import load

SQL = load("doctor")
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
        is_new = _saved_between(machine)[0] > machine.now - DAY_MS
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
    is_behind = _saved_between(machine)[1] > newest.made_at + 999
    if age > OLD_MS and is_behind:
        text = f"the newest backup is of {shown}; records were saved since"
        why = "they would be lost with the store"
        repair = Repair(lambda: make_backup(machine))
        yield Finding("backup-old", "warning", text, why, MAKE, repair)
    else:
        yield Finding("backup", "ok", f"{newest.path} of {shown}")


def _saved_between(machine: Machine) -> tuple[int, int]:
    """When the first and the last revision were saved; 0 for none."""
    with machine.reading(machine.paths.store) as db:
        first, last = db.one(SQL.saved_between) or (None, None)
    return int(first or 0), int(last or 0)


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
