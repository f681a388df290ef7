"""The logins of a group's members: give one, change what it may, take it away. Imports psycopg."""

import secrets
from typing import NamedTuple

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from mash_plugin.errors import NotFound
from mash_plugin.group.admin import Admin, administering, group_of, sql
from mash_plugin.group.names import Roles, check_member
from mash_plugin.postgres.dsn import stays_here
from mash_plugin.postgres.roles import make_ordinary, take_back

_IN_COMMON = ("host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert")
"""What a member's connection has in common with the administrator's."""


class Added(NamedTuple):
    """What one run did."""

    place: str
    group: str
    member: str
    is_read_only: bool
    was_there: bool
    dsn: str | None
    """The connection string with a new password; None where the member keeps its own."""
    kept_records: int
    """Published under this name before, by a member that was removed."""


class Removed(NamedTuple):
    """What one run did."""

    place: str
    group: str
    member: str
    records: int
    """Published by the member: kept, or purged."""
    is_login_gone: bool


def add_member(
    dsn: str,
    member: str,
    now: int,
    *,
    group: str | None = None,
    host: str | None = None,
    read_only: bool = False,
    new_password: bool = False,
) -> Added:
    """Give a member a login, or change what its login may.

    `host`: the server's name as the member reaches it, if not as the administrator does.
    """
    check_member(member)
    with administering(dsn) as admin:
        roles = group_of(admin, group)
        login = roles.login(member)
        has_login = admin.has_role(login)
        if has_login:
            admin.refuse_unbound(roles, login)
        else:
            admin.command("CREATE ROLE {login} LOGIN", login=login)
        with admin.as_owner(roles):
            was_there = _enlist(admin, login, member, now, read_only=read_only)
            kept = _records_of(admin, login)
        _allow(admin, roles, login, read_only=read_only)
        # A login that nobody listed may have a password that somebody else knows.
        is_new = new_password or not (has_login and was_there)
        made = _new_dsn(admin, login, host) if is_new else None
        return Added(admin.place, roles.group, member, read_only, was_there, made, kept)


def remove_member(
    dsn: str, member: str, now: int, *, group: str | None = None, purge: bool = False
) -> Removed:
    """Take a member's login away; what it published stays unless it is purged."""
    with administering(dsn) as admin:
        roles = group_of(admin, group)
        login = roles.login(check_member(member))
        with admin.as_owner(roles):
            if admin.one(sql.is_member, login=login) is None:
                raise NotFound(f"{admin.place}: group {roles.group} has no member {member}.")
            records = _records_of(admin, login)
            _strike(admin, login, now, purge=purge)
        is_gone = _shut_out(admin, roles, login)
        return Removed(admin.place, roles.group, member, records, is_gone)


def _enlist(admin: Admin, login: str, member: str, now: int, *, read_only: bool) -> bool:
    """Whether it was a member already."""
    found = admin.one(sql.is_member, login=login)
    admin.one(sql.enlist, login=login, member=member, is_read_only=int(read_only), now=now)
    return found == (True,)


def _records_of(admin: Admin, login: str) -> int:
    row = admin.one(sql.count_records, login=login)
    return int(row[0]) if row else 0


def _allow(admin: Admin, roles: Roles, login: str, *, read_only: bool) -> None:
    given, taken = (roles.member, roles.writer) if read_only else (roles.writer, roles.member)
    take_back(admin.raw, taken, login)
    admin.command("GRANT {given} TO {login}", given=given, login=login)
    make_ordinary(admin.raw, login)
    admin.command(
        "ALTER ROLE {login} SET search_path = pg_catalog, {schema}, pg_temp",
        login=login,
        schema=roles.schema,
    )


def _new_dsn(admin: Admin, login: str, host: str | None) -> str:
    password = secrets.token_urlsafe(24)
    # Only a hash of it goes to the server, whose log may keep statements.
    verifier = admin.raw.pgconn.encrypt_password(
        password.encode(), login.encode(), b"scram-sha-256"
    )
    admin.raw.execute(
        SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(login), Literal(verifier.decode()))
    )
    parts = {key: admin.options[key] for key in _IN_COMMON if admin.options.get(key)}
    # All is said: what is left out comes from the environment, which is another one there.
    found = admin.raw.info
    here = {"host": found.host, "port": str(found.port), "dbname": found.dbname}
    parts = here | parts
    if host is not None:
        parts.pop("hostaddr", None)
        parts["host"] = host
    if not stays_here(parts):
        parts["sslmode"] = "verify-full"
    return make_conninfo("", **parts, user=login, password=password)


def _strike(admin: Admin, login: str, now: int, *, purge: bool) -> None:
    if purge:
        admin.one(sql.delete_nodes, login=login)
        admin.one(sql.delete_member, login=login)
    else:
        admin.one(sql.strike, login=login, now=now)


def _shut_out(admin: Admin, roles: Roles, login: str) -> bool:
    """Whether the login is gone; one that owns something elsewhere is only shut out."""
    if not admin.has_role(login):
        return True
    for role in (roles.writer, roles.member):
        take_back(admin.raw, role, login)
    admin.command("ALTER ROLE {login} NOLOGIN PASSWORD NULL", login=login)
    admin.end_sessions(login)
    if admin.one(sql.owns_anything, role=login) is not None:
        return False
    admin.command("DROP ROLE {login}", login=login)
    return True
