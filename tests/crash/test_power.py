"""The power goes at any moment: what was acknowledged is there, and nothing half."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from mash_plugin import file_writing
from mash_plugin.store import connect, migrate
from mash_plugin.store import open as opening
from mash_plugin.store.sqlite import Database
from mash_plugin.throughline import queue
from tests.crash import power
from tests.crash.all_work import WORK
from tests.crash.workloads import Workload

pytestmark = pytest.mark.slow

STATES = 20
ENOUGH = 300
"""By then every fault below is seen; most are within the first ten."""
SEED = 1


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with power.a_place(tmp_path) as made:
        yield made


@pytest.mark.spec("R-183", "R-161", "R-200")
@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
@pytest.mark.row(30)
def test_no_power_cut_loses_what_was_acknowledged_or_leaves_half(
    work: type[Workload], folder: Path
) -> None:
    found = power.cut(power.record(work(folder)), SEED, range(STATES))
    assert sum(found.values()) == STATES


def without_sync(patch: pytest.MonkeyPatch) -> None:
    usual = connect.set_pragmas
    patch.setattr(
        connect,
        "set_pragmas",
        lambda raw, *pragmas: usual(raw, *pragmas, "synchronous = OFF"),
    )


def with_normal_sync(patch: pytest.MonkeyPatch) -> None:
    usual = connect.set_pragmas
    patch.setattr(
        connect,
        "set_pragmas",
        lambda raw, *pragmas: usual(
            raw, *(p.replace("synchronous = FULL", "synchronous = NORMAL") for p in pragmas)
        ),
    )


def with_half_a_migration(patch: pytest.MonkeyPatch) -> None:
    def half(database: Database, family: str) -> None:
        number = migrate.schema_number(family)
        for statement in migrate._migrations(family)[-1].split(";"):
            with database.writing() as db:
                db.run(statement)
        with database.writing() as db:
            db.run(f"PRAGMA user_version = {number}")

    patch.setattr(
        opening, "migrate", lambda d, f: half(d, f) if d.path.endswith(".db") else usual(d, f)
    )
    usual = migrate.migrate


def without_folders(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "sync_folder", lambda _folder: None)


def without_the_folder_above(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(queue, "make_folder", lambda folder: Path(folder).mkdir(exist_ok=True))


def without_synced_chats(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Database, "synced", lambda _database: nullcontext())


def without_the_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(file_writing, "sync_file", lambda _file: None)


@pytest.mark.parametrize(
    ("work", "broken"),
    [
        ("records", without_sync),
        ("records", with_normal_sync),
        ("migrating", with_half_a_migration),
        ("captures", without_folders),
        ("captures", without_the_folder_above),
        ("importing", without_synced_chats),
        ("settings", without_the_file),
    ],
)
@pytest.mark.row(30)
def test_the_harness_sees_work_that_is_not_safe(
    work: str,
    broken: Callable[[pytest.MonkeyPatch], None],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        broken(patch)
        recorded = power.record(WORK[work](folder))
    with pytest.raises(power.Fault, match=f"--only power --work {work} --seed {SEED} --number"):
        power.cut(recorded, SEED, range(ENOUGH))
