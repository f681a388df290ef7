"""Schemas: whole steps, in order, once."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import LocalFailure, UpgradeNeeded
from mash_plugin.store.migrate import migrate, schema_number
from mash_plugin.store.sqlite import Database
from tests.crash.faults import Faults

ONE = "CREATE TABLE t (x TEXT); CREATE VIRTUAL TABLE f USING fts5(x, content='t');"
TWO = (
    "ALTER TABLE t ADD COLUMN y TEXT; UPDATE t SET y = upper(x);"
    " DROP TABLE f; CREATE VIRTUAL TABLE f USING fts5(y, content='t');"
    " INSERT INTO f (f) VALUES ('rebuild');"
)


def old_file(path: Path) -> Path:
    """A file of the first schema with fifty rows."""
    database = Database(str(path), "FULL")
    migrate(database, "", [ONE])
    with database.writing() as db:
        db.run_many("INSERT INTO t VALUES (:x)", [{"x": f"word{n} " * 50} for n in range(50)])
    database.close()
    return path


def schema_of(path: Path) -> int:
    """1 or 2 when the file is wholly of that schema; fails for anything between."""
    raw = apsw.Connection(str(path))
    (number,) = next(iter(raw.execute("PRAGMA user_version")))
    columns = [row[1] for row in raw.execute("PRAGMA table_info(t)")]
    assert columns == (["x", "y"] if number == 2 else ["x"])
    assert next(iter(raw.execute("PRAGMA integrity_check"))) == ("ok",)
    if number == 2:
        assert next(iter(raw.execute("SELECT count(*) FROM f('WORD7')"))) == (1,)
    raw.close()
    return int(number)


@pytest.mark.parametrize("site", ["xWrite", "xSync", "xRead"])
@pytest.mark.row(35)
def test_a_migration_cut_at_any_call_leaves_the_old_or_the_new_schema(
    faults: Faults, tmp_path: Path, site: str
) -> None:
    old = old_file(tmp_path / "old.db")
    seen = set()
    for at in range(1, 500):
        path = Path(shutil.copy(old, tmp_path / "cut.db"))
        database = Database(str(path), "FULL")
        faults.arm(site, at, apsw.SQLITE_IOERR, is_lasting=True)
        with suppress(LocalFailure):
            migrate(database, "", [ONE, TWO])
        had_failed = faults.has_failed
        database.must_exit = True  # the cut: nothing is written any more
        database.close()
        faults.disarm()
        seen.add(schema_of(path))
        again = Database(str(path), "FULL")
        assert migrate(again, "", [ONE, TWO]) == 2
        again.close()
        assert schema_of(path) == 2
        if not had_failed:
            break
    assert seen == {1, 2}


@pytest.mark.row(35)
def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    path = old_file(tmp_path / "t.db")
    database = Database(str(path), "FULL")
    assert migrate(database, "", [ONE, TWO]) == 2
    with database.reading() as db:
        version = db.one("PRAGMA data_version")
        assert migrate(database, "", [ONE, TWO]) == 2
    with database.reading() as db:
        assert db.one("PRAGMA data_version") == version
    database.close()


@pytest.mark.row(35)
def test_two_processes_at_once_migrate_once(tmp_path: Path) -> None:
    path = old_file(tmp_path / "t.db")
    code = (
        "import sys; from mash_plugin.store.migrate import migrate\n"
        "from mash_plugin.store.sqlite import Database\n"
        "database = Database(sys.argv[1], 'FULL'); sys.stdin.readline()\n"
        "print(migrate(database, '', sys.argv[2:])); database.close()\n"
    )
    command = [sys.executable, "-c", code, str(path), ONE, TWO]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=30)[0] for process in processes] == ["2\n", "2\n"]
    assert schema_of(path) == 2


@pytest.mark.row(35)
def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = old_file(tmp_path / "t.db")
    database = Database(str(path), "FULL")
    migrate(database, "", [ONE, TWO])
    with pytest.raises(UpgradeNeeded, match="schema 2, this one knows 1"):
        migrate(database, "", [ONE])
    database.close()


@pytest.mark.parametrize("family", ["records", "chats"])
def test_the_shipped_schemas_are_numbered_without_gaps_and_apply(
    tmp_path: Path, family: str
) -> None:
    import mash_plugin.store.migrate as module

    folder = Path(module.__file__).parent / "sql" / "migrations" / family
    names = sorted(os.listdir(folder))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
    database = Database(str(tmp_path / "t.db"), "FULL")
    assert migrate(database, family) == schema_number(family) == len(names)
    with database.reading() as db:
        assert db.one("PRAGMA integrity_check") == ("ok",)
    database.close()
