"""The record store: whether it opens, whether its pages and every record are whole."""

import os
import time
from collections.abc import Iterator
from shlex import join, quote

from mash_plugin.doctor.finding import Finding
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.program import UPGRADE
from mash_plugin.doctor.words import own_words
from mash_plugin.render.text import local_date
from mash_plugin.store.queries import load
from mash_plugin.store.records import get_head, load_head, load_revision
from mash_plugin.store.sqlite import Connection
from mash_plugin.wording import counted

SQL = load("doctor")
COUNTED = {"records": "record", "revisions": "revision", "evidence": "quote"}
ALL = "mash doctor --category store"
NAMED = 5
FUTURE_MS = 10 * 60 * 1000
"""Clocks of two machines differ by less."""
_BUILT = 1_764_547_200_000
"""2025-12-01: no machine that runs this lives before it."""
_LATE = 4_102_444_800_000
"""2100."""


def check_store(machine: Machine) -> Iterator[Finding]:
    """The file as it lies on disk, every page read."""
    report = machine.report
    if report.state == "missing" and not report.restore_command:
        yield _not_there(machine)
        return
    text = own_words(report.problem or f"the store is {report.state}")
    match report.state:
        case "missing" | "damaged":
            why = "until it is restored, the newest good backup is read and nothing is saved"
            if not report.restore_command:
                why = "no good backup is there to restore it from"
            line = report.restore_command or _begin_anew(machine)
            yield Finding(f"store-{report.state}", "error", text, why, line)
        case "newer":
            why = "it is left alone until this mash knows it; first `git pull` in its checkout"
            yield Finding("store-newer", "error", text, why, UPGRADE)
        case "read_only":
            why = "memory is read, nothing is saved"
            yield Finding("store-read-only", "error", text, why, _make_writable(machine))
        case _:
            yield Finding("store", "ok", f"{report.path}: {_counts(machine)}")


def _not_there(machine: Machine) -> Finding:
    """None was made yet; or a daemon that runs has it open still, and nobody else can find it."""
    if "counts" not in machine.served:  # none runs, or it could not make one
        return Finding("store", "ok", "nothing is stored yet; it is made when the daemon starts")
    problem = machine.served.get("problem") or {}
    text = f"{machine.paths.store} is gone, though a daemon runs that keeps it"
    why = "what it held is lost with that daemon, but for a backup that it makes when it ends"
    line = (problem.get("details") or {}).get("restore", "mash daemon restart")
    return Finding("store-missing", "error", text, why, line)


def check_records(machine: Machine) -> Iterator[Finding]:
    """The checksum of every revision, the newest first, for as long as there is time."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        checked, total, damaged = _damaged(db, machine.record_time_s)
    if damaged:
        shown = ", ".join(damaged[:NAMED]) + (", ..." if len(damaged) > NAMED else "")
        text = f"{counted(len(damaged), 'record')} damaged and left out: {shown}"
        why = "their text no longer fits its checksum"
        if machine.report.last_backup:
            why += "; a backup may hold them whole: `mash restore` brings that state back"
        yield Finding("records-damaged", "error", text, why, f"mash forget-record {damaged[0]}")
    elif checked < total:
        text = f"the newest {checked} of {total} records are whole; `{ALL}` looks at all"
        yield Finding("records", "ok", text)
    else:
        yield Finding("records", "ok", f"{counted(total, 'record')}, every checksum holds")


def check_evidence(machine: Machine) -> Iterator[Finding]:
    """Records whose quotes no longer stand in their chats."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        (stale,) = db.one(SQL.count_stale) or (0,)
    if stale:
        text = f"{counted(stale, 'record')} resting on words that changed in their chats since"
        why = (
            "not recalled by themselves any more; `mash establish ID` brings one back by your hand"
        )
        yield Finding("evidence-stale", "note", text, why, "mash records --all")


def check_clock(machine: Machine) -> Iterator[Finding]:
    """A clock that is wrong, or was when something was saved."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        _, newest = db.one(SQL.saved_between) or (None, None)
        limit = {"at": machine.now + FUTURE_MS}
        (future,) = db.one(SQL.count_recorded_after, limit) or (0,)
    yield from clock_findings(machine.now, newest, int(future))


def clock_findings(now: int, newest: int | None, future: int) -> Iterator[Finding]:
    """What the clock and the newest record say of one another."""
    shown = local_date(now)
    fix = "timedatectl set-ntp true"
    if now < _BUILT or now > _LATE:
        why = "dates of new records will be wrong, and backups are not made in time"
        yield Finding("clock-wild", "error", f"the clock says {shown}", why, fix)
    elif future:
        last = local_date(newest)
        text = f"{counted(future, 'record')} dated after now, {shown}; the last {last}"
        why = "the clock was wrong when they were saved, or is wrong now"
        yield Finding("records-of-the-future", "warning", text, why, fix)
    else:
        yield Finding("clock", "ok", f"the clock says {shown}")


def _damaged(db: Connection, time_s: float) -> tuple[int, int, list[str]]:
    """How many records were looked at, how many there are, and the IDs of damaged ones."""
    rows = db.all(SQL.record_ids)
    end = time.monotonic() + time_s
    damaged: list[str] = []
    for number, (record_id,) in enumerate(rows):
        if time.monotonic() > end:
            return number, len(rows), damaged
        if not _is_whole(db, record_id):
            damaged.append(str(record_id))
    return len(rows), len(rows), damaged


def _is_whole(db: Connection, record_id: str) -> bool:
    head = get_head(db, record_id)
    if head is None:
        return True  # forgotten meanwhile
    if load_head(db, head) is None:
        return False
    return all(load_revision(db, head, number) for number in range(1, head.revision))


def _counts(machine: Machine) -> str:
    counts = machine.report.counts
    named = [counted(counts[table], one) for table, one in COUNTED.items() if table in counts]
    return ", ".join(named)


def _begin_anew(machine: Machine) -> str:
    """Moves all of it aside: a store that is missing beside backups is not begun anew."""
    store, backups = quote(machine.paths.store), quote(machine.paths.backups)
    return (
        f'mash daemon stop; for f in {store}* {backups}; do mv "$f" "$f.damaged"; done'
        "; mash daemon start  # begins an empty memory"
    )


def _make_writable(machine: Machine) -> str:
    data = machine.paths.data
    if os.statvfs(data).f_flag & os.ST_RDONLY:
        return f'sudo mount -o remount,rw "$(df -P {quote(data)} | tail -1 | cut -d% -f2 | xargs)"'
    return f"chmod u+rwX {join([data, machine.paths.store])}"
