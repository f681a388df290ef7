"""Bring a database file to the newest schema: numbered files, each in one transaction."""

import os
from collections.abc import Sequence

from mash_plugin.errors import UpgradeNeeded
from mash_plugin.store.connect import APPLICATION_ID
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.sqlite import Connection, Database

# importlib.resources costs 20 ms to import, and this is on the way to a hook's first answer.
_FOLDER = os.path.join(os.path.dirname(__file__), "sql", "migrations")


def migrate(database: Database, family: str, files: Sequence[str] | None = None) -> int:
    """Apply the pending files of sql/migrations/FAMILY; returns the schema number.

    DDL, data and the number change in one transaction: a cut leaves the old or the new
    schema, never half. Raises UpgradeNeeded for a newer file than this code.
    """
    newest = len(files) if files is not None else schema_number(family)
    current = database.schema()
    refuse_newer(database.path, current, newest)
    if current == newest:
        return newest
    texts = files if files is not None else _migrations(family)
    for number, sql in enumerate(texts[current:], start=current + 1):
        with database.writing() as db:
            if _version(db) < number:  # another process may have been first
                failpoint(f"{family}_migration_begun")
                db.run(sql)
                failpoint(f"{family}_migration_changed")
                db.run(f"PRAGMA user_version = {number}")
                db.run(f"PRAGMA application_id = {APPLICATION_ID}")
                failpoint(f"{family}_migration_numbered")
        failpoint(f"{family}_migration_committed")
    return newest


def schema_number(family: str) -> int:
    """The schema that this code writes."""
    return len(_names(family))


def refuse_newer(path: str, current: int, newest: int) -> None:
    """Raise UpgradeNeeded when the file knows more than this code."""
    if current > newest:
        raise UpgradeNeeded(
            f"{path} was made by a newer mash (schema {current}, this one knows {newest}); nothing"
            " was changed. Restart the agent if mash was upgraded, else upgrade it: `mash upgrade`."
        )


def _version(db: Connection) -> int:
    row = db.one("PRAGMA user_version")
    return int(row[0]) if row else 0


def _names(family: str) -> list[str]:
    try:
        names = os.listdir(os.path.join(_FOLDER, family))
    except FileNotFoundError:
        return []
    return sorted(n for n in names if n.endswith(".sql"))


def _migrations(family: str) -> list[str]:
    texts = []
    for name in _names(family):
        with open(os.path.join(_FOLDER, family, name), encoding="utf-8") as file:
            texts.append(file.read())
    return texts
