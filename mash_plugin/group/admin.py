"""An administrator's transaction on the group's server. Imports psycopg.

Everything of one command is one transaction, roles included: it happens whole or not at all, and
commands beside each other wait.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psycopg import errors as faults
from psycopg.sql import SQL, Identifier

from mash_plugin.errors import InvalidArgument, UpgradeNeeded
from mash_plugin.group.names import Roles, roles_of
from mash_plugin.group.schema import schema_number
from mash_plugin.postgres.connection import Advice, Connection, connect, told
from mash_plugin.postgres.dsn import connection_options, place_of
from mash_plugin.postgres.roles import may_become

ADVICE = Advice(
    login="Correct the administrator's connection string; nothing was changed.",
    away="Nothing was changed; run it again when the server answers.",
    lost="nothing was changed. Run it again.",
    set_up="run `mash group init --admin-dsn - NAME`.",
    denied="this login may not do that: an administrator's has CREATEROLE, and CREATE on the"
    " database",
    denied_as=InvalidArgument,
)
CONNECT_S = 10
STATEMENT_MS = 300_000
"""A purge deletes all that a member ever published."""
_ONE_AT_A_TIME = 0x6D61_7368
_GROUPS = """
SELECT n.nspname FROM pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner
WHERE n.nspname LIKE 'mash\\_%' AND o.rolname = n.nspname || '_owner' ORDER BY n.nspname
"""
_PASSES_RULES = """
SELECT min(r.rolname) FROM pg_roles AS r
WHERE (r.rolsuper OR r.rolbypassrls OR r.rolname = %s) AND pg_has_role(%s, r.oid, 'MEMBER')
"""


class Admin:
    """An open transaction; `{name}` in its statements stands for an identifier."""

    def __init__(self, raw: Connection, options: Mapping[str, str]) -> None:
        self.raw = raw
        self.options = options
        self.place = place_of(options)

    def one(self, sql: str, *params: object, **names: str) -> tuple[object, ...] | None:
        """The first row, or None."""
        parts = {key: Identifier(value) for key, value in names.items()}
        found = self.raw.execute(SQL(sql).format(**parts) if parts else sql, params or None)
        return found.fetchone() if found.description else None

    def column(self, sql: str) -> list[str]:
        """The first column of every row."""
        return [str(row[0]) for row in self.raw.execute(sql)]

    @contextmanager
    def as_owner(self, roles: Roles) -> Iterator[None]:
        """Work on the group's tables: no policy lets an administrator."""
        self.one("SET LOCAL ROLE {owner}", owner=roles.owner)
        # The schema first: with pg_catalog there, a bare CREATE TABLE would go to it.
        self.one("SET LOCAL search_path = {schema}, pg_temp", schema=roles.schema)
        yield
        self.one("RESET ROLE")
        self.one("SET LOCAL search_path = pg_catalog, pg_temp")

    def has_role(self, role: str) -> bool:
        """Whether the server knows such a role, in whichever database it is used."""
        return self.one("SELECT 1 FROM pg_roles WHERE rolname = %s", role) is not None

    def refuse_unbound(self, roles: Roles, login: str) -> None:
        """Raise InvalidArgument for a login that the rules between members do not bind."""
        found = self.one(_PASSES_RULES, roles.owner, login)
        if found and found[0]:
            raise InvalidArgument(
                f"{self.place}: the login {login} may act as {found[0]}, who passes the rules"
                " between members; a member must not. Take that away from it (REVOKE), or"
                " choose another name."
            )

    def end_sessions(self, login: str) -> None:
        """Cut the login's connections; one that may not be cut has no rights left anyway."""
        try:
            with self.raw.transaction():
                self.one(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE usename = %s AND pid <> pg_backend_pid()",
                    login,
                )
        except faults.InsufficientPrivilege:
            pass


@contextmanager
def administering(dsn: str) -> Iterator[Admin]:
    """One transaction of an administrator; other commands wait for its end."""
    options = connection_options(
        dsn,
        os.environ,
        schema="pg_catalog",
        application="mash group",
        connect_s=CONNECT_S,
        statement_ms=STATEMENT_MS,
        is_read_only=False,
    )
    raw = connect(options, ADVICE)
    with told(place_of(options), ADVICE), raw, raw.transaction():
        admin = Admin(raw, options)
        admin.one("SELECT pg_advisory_xact_lock(%s)", _ONE_AT_A_TIME)
        yield admin


def group_of(admin: Admin, group: str | None) -> Roles:
    """The group that is meant: the one that is there, where none is named.

    Raises InvalidArgument, and UpgradeNeeded for a group of another schema.
    """
    found = [schema.removeprefix("mash_") for schema in admin.column(_GROUPS)]
    if group is not None and roles_of(group).group not in found:
        raise InvalidArgument(
            f"{admin.place} has no group {group}; make it: mash group init --admin-dsn - {group}"
        )
    if group is None and not found:
        raise InvalidArgument(
            f"{admin.place} has no group; make one: mash group init --admin-dsn - NAME"
        )
    if group is None and len(found) > 1:
        raise InvalidArgument(
            f"{admin.place} has the groups {', '.join(found)}; name one with --group."
        )
    roles = Roles(group or found[0])
    may_become(admin.raw, roles.owner)
    _refuse_other_schema(admin, roles)
    return roles


def _refuse_other_schema(admin: Admin, roles: Roles) -> None:
    with admin.as_owner(roles):
        row = admin.one("SELECT max(version) FROM group_schema")
    if row != (schema_number(),):
        raise UpgradeNeeded(
            f"{admin.place}: group {roles.group} has schema {row[0] if row else 0}, this version"
            f" works with {schema_number()}. If mash is the newer one, run mash group init"
            f" --admin-dsn - {roles.group}; else `mash upgrade`."
        )
