"""The smallest thing that the record store can hold, saved and read back."""

import json
import os
from pathlib import Path

from mash_plugin.paths import Paths, find_paths
from mash_plugin.store.sqlite import Database

NOW = 1_764_500_000_000
DAY = 24 * 60 * 60 * 1000


def paths_in(root: Path) -> Paths:
    return find_paths({"MASH_HOME": str(root)})


def save(database: Database, number: int, *, size: int = 10) -> None:
    with database.writing() as db:
        db.run(
            "INSERT INTO receipts SELECT owner_id, :key, 'done', x'00', :receipt, 0 FROM owners",
            {"key": b"%d" % number, "receipt": json.dumps("r" * size)},
        )


def saved(database: Database) -> set[int]:
    with database.reading() as db:
        return {int(key) for (key,) in db.all("SELECT op_key FROM receipts")}


def mode(path: str) -> int:
    return os.stat(path).st_mode & 0o777
