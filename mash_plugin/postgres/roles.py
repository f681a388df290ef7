"""Roles of a server, as an administrator without all rights may change them. Imports psycopg."""

from psycopg import errors as faults
from psycopg.sql import SQL, Composed, Identifier

from mash_plugin.postgres.connection import Connection

_GIVEN_BY = """
SELECT g.rolname FROM pg_auth_members AS m JOIN pg_roles AS g ON g.oid = m.grantor
WHERE m.roleid = CAST(%s AS regrole) AND m.member = CAST(%s AS regrole)
"""
_MAY_NOT = {
    "rolsuper": "NOSUPERUSER",
    "rolbypassrls": "NOBYPASSRLS",
    "rolreplication": "NOREPLICATION",
    "rolcreatedb": "NOCREATEDB",
    "rolcreaterole": "NOCREATEROLE",
}


def may_become(raw: Connection, role: str) -> None:
    """Let the administrator work as a role, such as the owner of tables."""
    try:
        # Tried, not looked up: since 16 there are members that may not SET ROLE.
        with raw.transaction():
            raw.execute(_of("SET LOCAL ROLE {}", role))
            raw.execute("RESET ROLE")
    except faults.InsufficientPrivilege:
        raw.execute(_of("GRANT {} TO CURRENT_USER", role))


def take_back(raw: Connection, role: str, login: str) -> None:
    """Let a login be no member of a role any more, whoever made it one."""
    raw.execute(_of("REVOKE {} FROM {}", role, login))
    # Since 16 that is what this administrator gave; what others did stays, with a warning.
    for (giver,) in raw.execute(_GIVEN_BY, (_quoted(raw, role), _quoted(raw, login))).fetchall():
        raw.execute(_of("REVOKE {} FROM {} GRANTED BY {}", role, login, giver))


def make_ordinary(raw: Connection, login: str) -> None:
    """Let the login come in, with the rights of its roles and none beyond them."""
    columns = SQL(", ").join(map(Identifier, _MAY_NOT))
    found = raw.execute(
        SQL("SELECT {} FROM pg_roles WHERE rolname = %s").format(columns), (login,)
    ).fetchone()
    # Only what it has is named: since 16 nobody may even deny a right that they lack.
    taken = [word for word, has in zip(_MAY_NOT.values(), found or (), strict=True) if has]
    raw.execute(_of(" ".join(("ALTER ROLE {} LOGIN INHERIT", *taken)), login))


def _of(statement: str, *roles: str) -> Composed:
    return SQL(statement).format(*map(Identifier, roles))


def _quoted(raw: Connection, role: str) -> str:
    return Identifier(role).as_string(raw)
