"""Set up a group and its members, as an administrator of the database. Imports psycopg.

Everything of one command is one transaction, roles included: it happens whole or not at all, and
runs beside each other wait.
"""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from mash_plugin.errors import InvalidArgument, NotFound, UpgradeNeeded
from mash_plugin.group.names import Roles, check_member, roles_of
from mash_plugin.group.schema import migration, schema_number, scripts
from mash_plugin.postgres.connection import Advice, Connection, connect, told
from mash_plugin.postgres.dsn import connection_options, place_of

ADMIN_ADVICE = Advice(
    login="Correct the administrator's connection string.",
    away="Nothing was changed; run it again when the server answers.",
    lost="nothing was changed. Run it again.",
    set_up="run `mash group init --admin-dsn - NAME`.",
    denied="this login may not do that; give an administrator's that has CREATEROLE and may"
    " create in the database",
    denied_as=InvalidArgument,
)
ADMIN_MS = 30_000
_KEPT = ("host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert")
"""What a member's connection has in common with the administrator's."""
_ONE_AT_A_TIME = 0x6D61_7368


class Made(NamedTuple):
    """What `init` did."""

    place: str
    group: str
    migrated: int
    is_new: bool


class Added(NamedTuple):
    """What `add` did."""

    place: str
    group: str
    member: str
    is_read_only: bool
    is_new: bool
    dsn: str | None
    """The member's connection string with a new password; None where the former one is kept."""


class Removed(NamedTuple):
    """What `remove` did."""

    place: str
    group: str
    member: str
    records: int
    """Published by the member: kept, or purged."""
    is_login_gone: bool


class Admin:
    """An administrator's transaction on the server."""

    def __init__(self, raw: Connection, options: Mapping[str, str]) -> None:
        self.raw = raw
        self.options = options
        self.place = place_of(options)

    def one(self, sql: str, *params: object) -> tuple[object, ...] | None:
        """The first row, or None."""
        return self.raw.execute(sql, params).fetchone()

    def do(self, sql: str, **names: str) -> None:
        """One statement; `{name}` in it stands for an identifier."""
        parts = {key: Identifier(value) for key, value in names.items()}
        self.raw.execute(SQL(sql).format(**parts))

    @contextmanager
    def as_owner(self, roles: Roles) -> Iterator[None]:
        """Work on the group's tables: no policy lets anybody else."""
        self.do("SET LOCAL ROLE {owner}", owner=roles.owner)
        # The schema first: with pg_catalog there, a bare CREATE TABLE would go to it.
        self.do("SET LOCAL search_path = {schema}, pg_temp", schema=roles.schema)
        yield
        self.do("RESET ROLE")
        self.do("SET LOCAL search_path = pg_catalog, pg_temp")

    def has_role(self, role: str) -> bool:
        return self.one("SELECT 1 FROM pg_roles WHERE rolname = %s", role) is not None

    def has_schema(self, schema: str) -> bool:
        return self.one("SELECT 1 FROM pg_namespace WHERE nspname = %s", schema) is not None

    @property
    def is_superuser(self) -> bool:
        found = self.one("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return found == (True,)


@contextmanager
def administering(dsn: str) -> Iterator[Admin]:
    """One transaction of an administrator; others of ours wait for its end."""
    options = connection_options(
        dsn,
        os.environ,
        schema="pg_catalog",
        application="mash group",
        connect_s=10,
        statement_ms=ADMIN_MS,
        is_read_only=False,
    )
    place = place_of(options)
    raw = connect(options, ADMIN_ADVICE)
    with told(place, ADMIN_ADVICE), raw, raw.transaction():
        admin = Admin(raw, options)
        admin.one("SELECT pg_advisory_xact_lock(%s)", _ONE_AT_A_TIME)
        yield admin


def init(dsn: str, group: str, now: int) -> Made:
    """Make the group, or bring it to this version's schema."""
    roles = roles_of(group)
    with administering(dsn) as admin:
        is_new = not admin.has_schema(roles.schema)
        if is_new:
            _refuse_used_names(admin, roles)
            for role in (roles.owner, roles.member, roles.writer):
                admin.do("CREATE ROLE {role} NOLOGIN", role=role)
            admin.do("GRANT {member} TO {writer}", member=roles.member, writer=roles.writer)
        _work_as_owner(admin, roles)
        if is_new:
            admin.do(
                "CREATE SCHEMA {schema} AUTHORIZATION {owner}",
                schema=roles.schema,
                owner=roles.owner,
            )
            admin.do(
                "GRANT USAGE ON SCHEMA {schema} TO {member}",
                schema=roles.schema,
                member=roles.member,
            )
        with admin.as_owner(roles):
            migrated = _migrate(admin, roles)
            admin.one(
                "INSERT INTO group_info (group_id, name, created_at) VALUES (%s, %s, %s)"
                " ON CONFLICT DO NOTHING RETURNING group_id",
                secrets.token_hex(16),
                group,
                now,
            )
        return Made(admin.place, group, migrated, is_new)


def add(
    dsn: str, group: str | None, member: str, now: int, *, read_only: bool, new_password: bool
) -> Added:
    """Give a member a login, or change what it may; a password is made only for a new one."""
    check_member(member)
    with administering(dsn) as admin:
        roles = _group_of(admin, group)
        login = roles.login(member)
        is_new = not admin.has_role(login)
        if is_new:
            admin.do("CREATE ROLE {login} LOGIN", login=login)
        else:
            _refuse_foreign_login(admin, roles, login)
        _bind(admin, roles, login, read_only=read_only)
        with admin.as_owner(roles):
            admin.one(
                "INSERT INTO members (role_name, member, is_read_only, added_at)"
                " VALUES (%s, %s, %s, %s) ON CONFLICT (role_name) DO UPDATE"
                " SET is_read_only = excluded.is_read_only, removed_at = NULL RETURNING 1",
                login,
                member,
                int(read_only),
                now,
            )
        made = _new_dsn(admin, login) if is_new or new_password else None
        return Added(admin.place, roles.group, member, read_only, is_new, made)


def remove(dsn: str, group: str | None, member: str, now: int, *, purge: bool) -> Removed:
    """Take a member's login away; what it published stays unless it is purged."""
    with administering(dsn) as admin:
        roles = _group_of(admin, group)
        login = roles.login(check_member(member))
        with admin.as_owner(roles):
            if admin.one("SELECT 1 FROM members WHERE role_name = %s", login) is None:
                raise NotFound(f"{member} is no member of {roles.group} at {admin.place}.")
            counted = admin.one(
                "SELECT coalesce(sum(records), 0)::bigint FROM nodes WHERE role_name = %s", login
            )
            _forget_member(admin, login, now, purge=purge)
        is_gone = _drop_login(admin, roles, login)
        records = int(str(counted[0])) if counted else 0
        return Removed(admin.place, roles.group, member, records, is_gone)


def _refuse_used_names(admin: Admin, roles: Roles) -> None:
    """Roles belong to the whole server: those of a group elsewhere must not be let in here."""
    used = [r for r in (roles.owner, roles.member, roles.writer) if admin.has_role(r)]
    if not used:
        return
    elsewhere = admin.one(
        "SELECT min(d.datname) FROM pg_shdepend AS s JOIN pg_database AS d ON d.oid = s.dbid"
        " JOIN pg_roles AS r ON r.oid = s.refobjid WHERE r.rolname = %s",
        roles.owner,
    )
    where = (
        f"another group {roles.group} in the database {elsewhere[0]}"
        if elsewhere and elsewhere[0]
        else f"an earlier group {roles.group}, whose database is gone"
    )
    raise InvalidArgument(
        f"{admin.place}: the server has the role {used[0]} already, of {where}. Choose another"
        " name, or drop the former group's roles."
    )


def _work_as_owner(admin: Admin, roles: Roles) -> None:
    found = admin.one("SELECT pg_has_role(%s, 'MEMBER')", roles.owner)
    if found != (True,):
        admin.do("GRANT {owner} TO CURRENT_USER", owner=roles.owner)


def _migrate(admin: Admin, roles: Roles) -> int:
    """Run what is missing; how many migrations."""
    admin.do("CREATE TABLE IF NOT EXISTS group_schema (version INTEGER PRIMARY KEY)")
    row = admin.one("SELECT coalesce(max(version), 0) FROM group_schema")
    current = int(str(row[0])) if row else 0
    if current > schema_number():
        raise UpgradeNeeded(
            f"{admin.place}: group {roles.group} has schema {current}, this version knows"
            f" {schema_number()}; nothing was changed. `mash upgrade`."
        )
    missing = scripts()[current:]
    for number, name in enumerate(missing, current + 1):
        admin.raw.execute(migration(name, roles))
        admin.one("INSERT INTO group_schema (version) VALUES (%s) RETURNING version", number)
    return len(missing)


def _group_of(admin: Admin, group: str | None) -> Roles:
    """The group that is meant, brought no further. Raises InvalidArgument, UpgradeNeeded."""
    found = [
        str(row[0])[len("mash_") :]
        for row in admin.raw.execute(
            "SELECT nspname FROM pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner"
            " WHERE o.rolname = nspname || '_owner' AND nspname LIKE 'mash\\_%' ORDER BY nspname"
        )
    ]
    if group is not None and roles_of(group).group not in found:
        raise InvalidArgument(
            f"{admin.place} has no group {group}; make it: mash group init --admin-dsn - {group}"
        )
    if group is None and len(found) != 1:
        what = (
            f"the groups {', '.join(found)}: name one with --group"
            if found
            else ("no group; make one: mash group init --admin-dsn - NAME")
        )
        raise InvalidArgument(f"{admin.place} has {what}.")
    roles = Roles(group or found[0])
    _work_as_owner(admin, roles)
    with admin.as_owner(roles):
        row = admin.one("SELECT max(version) FROM group_schema")
    if row != (schema_number(),):
        raise UpgradeNeeded(
            f"{admin.place}: group {roles.group} has schema {row and row[0]}, this version"
            f" works with {schema_number()}: run mash group init --admin-dsn - {roles.group}, or"
            " `mash upgrade`."
        )
    return roles


def _refuse_foreign_login(admin: Admin, roles: Roles, login: str) -> None:
    """A login of that name which is no member of ours may be anybody's."""
    found = admin.one(
        "SELECT rolsuper OR rolbypassrls OR rolreplication OR pg_has_role(rolname, %s, 'MEMBER')"
        " FROM pg_roles WHERE rolname = %s",
        roles.owner,
        login,
    )
    if found == (True,):
        raise InvalidArgument(
            f"{admin.place}: {login} is a superuser, passes row-level security or owns the"
            " group's tables; a member must not. Drop that role, or choose another name."
        )


def _bind(admin: Admin, roles: Roles, login: str, *, read_only: bool) -> None:
    given, taken = (roles.member, roles.writer) if read_only else (roles.writer, roles.member)
    admin.do("GRANT {given} TO {login}", given=given, login=login)
    if admin.one("SELECT pg_has_role(%s, %s, 'MEMBER')", login, taken) == (True,) and read_only:
        admin.do("REVOKE {taken} FROM {login}", taken=taken, login=login)
    kept = "NOSUPERUSER NOBYPASSRLS NOREPLICATION " if admin.is_superuser else ""
    admin.do(f"ALTER ROLE {{login}} {kept}NOCREATEDB NOCREATEROLE LOGIN", login=login)
    admin.do(
        "ALTER ROLE {login} SET search_path = pg_catalog, {schema}, pg_temp",
        login=login,
        schema=roles.schema,
    )


def _new_dsn(admin: Admin, login: str) -> str:
    password = secrets.token_urlsafe(24)
    # Only a hash of it goes to the server, whose log may keep statements.
    verifier = admin.raw.pgconn.encrypt_password(
        password.encode(), login.encode(), b"scram-sha-256"
    )
    admin.raw.execute(
        SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(login), Literal(verifier.decode()))
    )
    kept = {key: admin.options[key] for key in _KEPT if admin.options.get(key)}
    kept.setdefault("dbname", admin.raw.info.dbname)
    return make_conninfo("", **kept, user=login, password=password)


def _forget_member(admin: Admin, login: str, now: int, *, purge: bool) -> None:
    if purge:
        admin.one("DELETE FROM nodes WHERE role_name = %s RETURNING 1", login)
        admin.one("DELETE FROM members WHERE role_name = %s RETURNING 1", login)
    else:
        admin.one(
            "UPDATE members SET removed_at = coalesce(removed_at, %s)"
            " WHERE role_name = %s RETURNING 1",
            now,
            login,
        )


def _drop_login(admin: Admin, roles: Roles, login: str) -> bool:
    """Whether the login is gone; one that owns something elsewhere is only shut out."""
    if not admin.has_role(login):
        return True
    for role in (roles.writer, roles.member):
        admin.do("REVOKE {role} FROM {login}", role=role, login=login)
    admin.do("ALTER ROLE {login} NOLOGIN PASSWORD NULL", login=login)
    admin.one(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = %s", login
    )
    owns = admin.one(
        "SELECT 1 FROM pg_shdepend AS s JOIN pg_roles AS r ON r.oid = s.refobjid"
        " WHERE r.rolname = %s LIMIT 1",
        login,
    )
    if owns is None:
        admin.do("DROP ROLE {login}", login=login)
    return owns is None
