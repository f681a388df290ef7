"""Many imports and restores that are killed, each judged and then done again."""

import random
import shutil
from collections import Counter
from pathlib import Path

from mash_plugin.paths import Paths
from mash_plugin.records.model import Body, Evidence, Revision, Scope
from mash_plugin.store import backup
from mash_plugin.store.changes import insert_record, remove_record
from mash_plugin.store.open import open_store
from mash_plugin.store.operations import identity_of
from mash_plugin.store.restore import restore
from mash_plugin.store.sqlite import Connection
from tests.support.cut_transfers import (
    MODES,
    RESTORE_POINTS,
    TABLES,
    close,
    empty,
    home,
    run,
    run_and_kill,
    state_of,
)
from tests.transfer.conftest import a_memory, export, take_in

NOW = 1_796_100_000_000
LONGEST_S = 1.5
"""A whole run takes about a second, most of it the start of Python."""
RECORDS = 300
REACHED = ("owner", "record", "revision", "before_commit", "between_stores", "after_commit")
"""Places that an import of records alone comes to."""


def kill_imports(folder: Path, runs: int, chance: random.Random) -> Counter[str]:
    """How many kills left an import undone, and done; raises where one was done by halves."""
    file, whole = folder / "export", folder / "whole"
    with a_memory(folder / "source", "s") as memory:
        with memory.call.store.writing() as db:
            for number in range(RECORDS):
                add_record(db, f"record-{number:04}")
        export(memory, file)
    with a_memory(whole) as memory:
        take_in(memory, file)
    wanted, nothing = state_of(whole), dict.fromkeys(TABLES, 0)
    found: Counter[str] = Counter()
    root = folder / "cut"
    for number in range(runs):
        mode = MODES[number % len(MODES)]
        empty(root)
        if number < len(REACHED):
            run("import", root, str(file), mode, "a", failpoint=f"import_{REACHED[number]}")
        else:
            moment = chance.uniform(0, LONGEST_S)
            run_and_kill("import", root, str(file), mode, "a", after_s=moment)
        left = state_of(root).counts
        assert left in (nothing, wanted.counts), f"run {number}: {left}"
        found["an import: " + ("all of it" if left == wanted.counts else "none of it")] += 1
        with a_memory(root, "b") as memory:
            take_in(memory, file, mode)
        assert state_of(root) == wanted, f"run {number}: {state_of(root)}"
    return found


def kill_restores(folder: Path, runs: int, chance: random.Random) -> Counter[str]:
    """How many kills left a restore where; raises where something forgotten came back."""
    lived, root = folder / "lived", folder / "restored"
    forget_since_backup(home(lived))
    found: Counter[str] = Counter()
    for number in range(runs):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(lived, root)
        if number < len(RESTORE_POINTS):
            run("restore", root, failpoint=RESTORE_POINTS[number])
        else:
            run_and_kill("restore", root, after_s=chance.uniform(0, LONGEST_S))
        paths = home(root)
        found["a restore: " + _where(paths)] += 1
        assert restore(paths, None, NOW).forgotten_again is not None, f"run {number}"
        assert records_of(paths) == {"kept"}, f"run {number}: {records_of(paths)}"
        assert not Path(paths.store + ".restoring").exists()
    return found


def forget_since_backup(paths: Paths) -> None:
    """Make a store of two records with a backup of both, and forget one of them after it."""
    store = open_store(paths, NOW)
    with store.writing() as db:
        add_record(db, "kept")
        add_record(db, "gone")
    backup.make(store, paths.backups, NOW)
    with store.writing() as db:
        remove_record(db, "gone", NOW)
    close(store)


def add_record(db: Connection, record_id: str) -> None:
    """A fact of its own, with one citation."""
    statement = f"It is so with {record_id}."
    evidence = Evidence("claude-code-s-1", "m", "So.", "report", "user", "person", "So.")
    body = Body("fact", "current", statement, "tests", reported_by="somebody")
    first = Revision(1, body, NOW, (evidence,))
    owner, scope = identity_of(db).owner, Scope("personal")
    insert_record(db, record_id, owner, scope, first, record_id.encode(), (statement, "so"))


def records_of(paths: Paths) -> set[str]:
    """The records of a store that opens whole."""
    store = open_store(paths, NOW)
    try:
        assert store.problem is None, store.problem
        with store.reading() as db:
            return {row[0] for row in db.all("SELECT record_id FROM records")}
    finally:
        close(store)


def _where(paths: Paths) -> str:
    if not Path(paths.store).exists():
        return "the former store set aside, its place empty"
    is_aside = any(Path(paths.data).glob("records.db.before-restore-*"))
    return "the backup in its place" if is_aside else "the former store in its place"
