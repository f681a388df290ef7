"""Bring a database file to the newest schema: numbered files, each in one transaction."""

from importlib import resources

from mash_plugin.errors import UpgradeNeeded
from mash_plugin.store.sqlite import Connection, Database

APPLICATION_ID = 0x6D617368  # "mash"


def migrate(database: Database, family: str) -> int:
    """Apply the pending files of sql/migrations/FAMILY; returns the schema number.

    DDL, data and the number change in one transaction: a cut leaves the old or the new
    schema, never half (design 6.3). Raises UpgradeNeeded for a newer file than this code.
    """
    files = _migrations(family)
    newest = len(files)
    with database.reading() as db:
        current = _version(db)
    if current > newest:
        raise UpgradeNeeded(
            f"{database.path} was made by a newer mash (schema {current}, this one knows {newest});"
            " upgrade mash."
        )
    for number, sql in enumerate(files[current:], start=current + 1):
        with database.writing() as db:
            if _version(db) < number:  # another process may have been first
                db.run(sql)
                db.run(f"PRAGMA user_version = {number}")
                db.run(f"PRAGMA application_id = {APPLICATION_ID}")
    return newest


def schema_number(family: str) -> int:
    """The schema that this code writes."""
    return len(_migrations(family))


def _version(db: Connection) -> int:
    row = db.one("PRAGMA user_version")
    return int(row[0]) if row else 0


def _migrations(family: str) -> list[str]:
    folder = resources.files("mash_plugin.store") / "sql" / "migrations" / family
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [f.read_text("utf-8") for f in files]
