"""The group's schema on the server: its number, and the scripts that lead to it."""

import os

from psycopg.sql import SQL, Composed, Identifier

from mash_plugin.group.names import Roles

MIGRATIONS = os.path.join(os.path.dirname(__file__), "sql", "migrations")


def schema_number() -> int:
    """The schema that this code reads and writes."""
    return len(scripts())


def scripts() -> list[str]:
    """The names of the migrations in their order."""
    return sorted(name for name in os.listdir(MIGRATIONS) if name.endswith(".sql"))


def migration(name: str, roles: Roles) -> Composed:
    """The statements of one script, for the roles of this group."""
    with open(os.path.join(MIGRATIONS, name), encoding="utf-8") as script:
        text = script.read()
    return SQL(text).format(
        schema=Identifier(roles.schema),
        owner=Identifier(roles.owner),
        member=Identifier(roles.member),
        writer=Identifier(roles.writer),
    )
