"""Open the stores of a home with one migration more than there are: a process for killing.

usage: python -m tests.support.migrating MASH_HOME FOLDER
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import apsw

from mash_plugin.paths import Paths, find_paths
from mash_plugin.store import migrate
from mash_plugin.store.open import open_chats, open_store
from tests.support.schema_fixtures import FAMILIES, NOW, ROOT, migration_files, newest

NEXT = {
    # What migrations do: a new column with a value for each row, a table made anew, an index.
    "records": """
        ALTER TABLE records ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;
        UPDATE records SET weight = length(strong_tokens);
        CREATE TABLE anew AS SELECT * FROM checkpoints;
        DROP TABLE checkpoints;
        ALTER TABLE anew RENAME TO checkpoints;
        CREATE INDEX records_weight ON records(weight);
    """,
    "chats": """
        ALTER TABLE messages ADD COLUMN length INTEGER;
        UPDATE messages SET length = length(text);
        INSERT INTO messages_fts(messages_fts) VALUES ('optimize');
        CREATE INDEX messages_length ON messages(length);
    """,
}


FAILPOINTS = [
    "records_migration_backed_up",
    *(
        f"{family}_migration_{point}"
        for family in FAMILIES
        for point in ("begun", "changed", "numbered", "committed")
    ),
]
CEILING_S = 30.0
LONGEST_S = 0.04
"""Nearly all migrations are done after so long: kills come before."""


def write_migrations(folder: Path) -> Path:
    """The migrations as they are, and one more of each family."""
    for family, sql in NEXT.items():
        number = newest()[family]
        (folder / family).mkdir(parents=True)
        for file in migration_files(family, number):
            (folder / family / file.name).write_bytes(file.read_bytes())
        (folder / family / f"{number + 1:04}_next.sql").write_text(sql)
    return folder


def migrate_all(paths: Paths, folder: Path) -> None:
    """Bring both stores to the newest schema of that folder, as a daemon that starts does."""
    migrate._FOLDER = str(folder)
    open_store(paths, NOW).close()
    open_chats(paths).close()


def cut(paths: Paths, folder: Path, *, failpoint: str | None = None, after_s: float = 0.0) -> None:
    """Let a process migrate and kill it: at a failpoint, or so long after it began."""
    environment = {**os.environ, "MASH_TESTING": "1"}
    if failpoint:
        environment["MASH_FAILPOINT"] = f"{failpoint}:kill"
    command = [sys.executable, "-m", "tests.support.migrating", str(paths.home), str(folder)]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        if failpoint:
            assert process.wait(CEILING_S) == -9, f"{failpoint} was not met"
        else:
            with suppress(subprocess.TimeoutExpired):
                process.wait(after_s)
            process.kill()


def schemas(paths: Paths) -> dict[str, int]:
    """The schema of each store. Fails where one is neither whole as before nor whole as after."""
    found = {}
    for family, attribute in FAMILIES.items():
        raw = apsw.Connection(getattr(paths, attribute), flags=apsw.SQLITE_OPEN_READWRITE)
        (number,) = next(iter(raw.execute("PRAGMA user_version")))
        table, column = {"records": ("records", "weight"), "chats": ("messages", "length")}[family]
        columns = [row[1] for row in raw.execute(f"PRAGMA table_info({table})")]
        assert (column in columns) is (number > newest()[family]), (family, number)
        assert list(raw.execute("PRAGMA integrity_check")) == [("ok",)]
        raw.close()
        found[family] = int(number)
    return found


if __name__ == "__main__":
    home = find_paths({"MASH_HOME": sys.argv[1]})
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    migrate_all(home, Path(sys.argv[2]))
    sys.stdout.write("done\n")
