"""A store, its export and its backup, and processes that are killed while they bring it back."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from mash_plugin.paths import Paths, find_paths
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.sqlite import Database
from mash_plugin.transfer.names import Mode

ROOT = Path(__file__).resolve().parents[2]
CEILING_S = 60.0
MODES: tuple[Mode, ...] = ("export", "mine", "identity")
IMPORT_POINTS = (
    *("import_owner", "import_chat", "import_message", "import_record", "import_revision"),
    *("import_link", "import_checkpoint", "import_before_commit", "import_between_stores"),
    "import_after_commit",
)
RESTORE_POINTS = ("restore_prepared", "restore_set_aside", "restore_renamed")
TABLES = ("records", "revisions", "evidence", "confirmations", "links", "imports")

_CHILD = """
import sys
from tests.support import cut_transfers
cut_transfers.child(*sys.argv[1:])
"""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.transfer.conftest"])  # takes most of what a child would


class Cut(NamedTuple):
    """A store as a kill left it."""

    counts: dict[str, int]
    chats: int


def child(what: str, root: str, *arguments: str) -> None:
    """Import, export or restore in this process, which is about to be killed."""
    if what == "restore":
        from mash_plugin.store.restore import restore

        restore(home(Path(root)), None, 2)
        return
    from tests.transfer.conftest import a_memory, export, take_in

    if what == "export":
        with a_memory(Path(root)) as memory:
            export(memory, Path(arguments[0]))
        return
    file, mode, prefix = arguments
    with a_memory(Path(root), prefix) as memory:
        take_in(memory, Path(file), mode)  # type: ignore[arg-type]  # one of MODES


def run(what: str, root: Path, *arguments: str, failpoint: str | None = None) -> None:
    """Let a child process do it; it must die where it should and end well where not."""
    environment = {"MASH_TESTING": "1"}
    if failpoint:
        environment["MASH_FAILPOINT"] = f"{failpoint}:kill"
    process = _FORKS.Process(target=_child_with, args=(environment, what, str(root), *arguments))
    process.start()
    process.join(CEILING_S)
    assert process.exitcode == (-signal.SIGKILL if failpoint else 0)


def _child_with(environment: dict[str, str], what: str, *arguments: str) -> None:
    os.environ |= environment
    child(what, *arguments)


def run_and_kill(what: str, root: Path, *arguments: str, after_s: float) -> bool:
    """Kill a child process after a while; whether it had come to its end before."""
    command = [sys.executable, "-c", _CHILD, what, str(root), *arguments]
    environment = {**os.environ, "MASH_TESTING": "1"}
    out = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait(CEILING_S) == 0


def home(root: Path) -> Paths:
    return find_paths({"MASH_HOME": str(root / "mash")})


def state_of(root: Path) -> Cut:
    """How much a store holds; opening it is what the next daemon does."""
    store, chats = open_store(home(root), 1), open_chats(home(root))
    try:
        assert store.problem is None, store.problem
        with store.reading() as db:
            counts = {t: int((db.one(f"SELECT count(*) FROM {t}") or (0,))[0]) for t in TABLES}  # noqa: S608 - ours
            assert db.all("PRAGMA foreign_key_check") == []
            assert db.all("PRAGMA quick_check") == [("ok",)]
        with chats.reading() as db:
            return Cut(counts, int((db.one("SELECT count(*) FROM chats") or (0,))[0]))
    finally:
        close(store, chats)


def close(*databases: Database) -> None:
    for database in databases:
        if database.check:
            database.check.join()
        database.close()


def empty(root: Path) -> None:
    """Begin anew."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
