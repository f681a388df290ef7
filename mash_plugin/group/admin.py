"""An administrator's transaction on the group's server. Imports psycopg.

Everything of one command is one transaction, roles included: it happens whole or not at all, and
commands beside each other wait.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace

from psycopg import errors as faults
from psycopg.sql import SQL, Identifier

from mash_plugin.errors import InvalidArgument, UpgradeNeeded
from mash_plugin.group.names import Roles, roles_of
from mash_plugin.group.schema import schema_number
from mash_plugin.group.session import SQL_FOLDER
from mash_plugin.postgres.connection import Advice, Connection, Row, connect, for_psycopg, told
from mash_plugin.postgres.dsn import connection_options, place_of
from mash_plugin.postgres.roles import may_become
from mash_plugin.store.queries import load

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
sql: SimpleNamespace = load("admin", SQL_FOLDER)


class Admin:
    """An open transaction."""

    def __init__(self, raw: Connection, options: Mapping[str, str]) -> None:
        self.raw = raw
        self.options = options
        self.place = place_of(options)

    def one(self, statement: str, **params: object) -> Row | None:
        """The first row of what has rows, or None."""
        found = self.raw.execute(for_psycopg(statement), params or None)
        return found.fetchone() if found.description else None

    def command(self, statement: str, **names: str) -> None:
        """Run a command about roles or schemas; `{name}` stands for the name of one."""
        self.raw.execute(SQL(statement).format(**{k: Identifier(v) for k, v in names.items()}))

    @contextmanager
    def as_owner(self, roles: Roles) -> Iterator[None]:
        """Work on the group's tables: no policy lets an administrator."""
        self.command("SET LOCAL ROLE {owner}", owner=roles.owner)
        # The schema first: with pg_catalog there, a bare CREATE TABLE would go to it.
        self.command("SET LOCAL search_path = {schema}, pg_temp", schema=roles.schema)
        yield
        self.command("RESET ROLE")
        self.command("SET LOCAL search_path = pg_catalog, pg_temp")

    def has_role(self, role: str) -> bool:
        """Whether the server knows such a role, in whichever database it is used."""
        return self.one(sql.has_role, role=role) is not None

    def version(self) -> int:
        """The number of the group's schema; asked as its owner."""
        row = self.one(sql.version)
        return int(row[0]) if row else 0

    def refuse_unbound(self, roles: Roles, login: str) -> None:
        """Raise InvalidArgument for a login that the rules between members do not bind."""
        found = self.one(sql.passes_rules, owner=roles.owner, login=login)
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
                self.one(sql.end_sessions, login=login)
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
        admin.one(sql.wait_for_others, key=_ONE_AT_A_TIME)
        yield admin


def group_of(admin: Admin, group: str | None) -> Roles:
    """The group that is meant: the one that is there, where none is named.

    Raises InvalidArgument, and UpgradeNeeded for a group of another schema.
    """
    found = [name.removeprefix("mash_") for (name,) in admin.raw.execute(sql.schemas_of_groups)]
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
        version = admin.version()
    if version != schema_number():
        raise UpgradeNeeded(
            f"{admin.place}: group {roles.group} has schema {version}, this version"
            f" works with {schema_number()}. If mash is the newer one, run mash group init"
            f" --admin-dsn - {roles.group}; else `mash upgrade`."
        )
