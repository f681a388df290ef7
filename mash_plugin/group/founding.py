"""Make a group's schema, tables, rules and roles, or bring them up to date. Imports psycopg."""

import secrets
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument, UpgradeNeeded
from mash_plugin.group.admin import Admin, administering, sql
from mash_plugin.group.names import Roles, roles_of
from mash_plugin.group.schema import migration, schema_number, scripts
from mash_plugin.postgres.roles import may_become


class Founded(NamedTuple):
    """What one run did."""

    place: str
    group: str
    migrated: int
    is_new: bool


def found_group(dsn: str, group: str, now: int) -> Founded:
    """Make the group, or bring it to this version's schema; it may be run again."""
    roles = roles_of(group)
    with administering(dsn) as admin:
        there = admin.one(sql.has_schema, schema=roles.schema)
        if there is None:
            _make_roles(admin, roles)
        may_become(admin.raw, roles.owner)
        if there is None:
            _make_schema(admin, roles)
        with admin.as_owner(roles):
            migrated = _migrate(admin, roles)
            admin.one(sql.name_group, group_id=secrets.token_hex(16), name=group, now=now)
        return Founded(admin.place, group, migrated, there is None)


def _make_roles(admin: Admin, roles: Roles) -> None:
    ours = (roles.owner, roles.member, roles.writer)
    for role in ours:
        if admin.has_role(role):
            raise _used_name(admin, roles, role)
    for role in ours:
        admin.command("CREATE ROLE {role} NOLOGIN", role=role)
    admin.command("GRANT {member} TO {writer}", member=roles.member, writer=roles.writer)


def _used_name(admin: Admin, roles: Roles, role: str) -> InvalidArgument:
    """Roles belong to the whole server: members of a group elsewhere must not be let in here."""
    found = admin.one(sql.used_in, role=roles.owner)
    of_whom = (
        f"the group {roles.group} in database {found[0]}"
        if found and found[0]
        else f"a former group {roles.group}; drop it and its members' logins"
    )
    return InvalidArgument(
        f"{admin.place}: the server has a role {role} already, of {of_whom}. Nothing was changed;"
        " choose another name for the group."
    )


def _make_schema(admin: Admin, roles: Roles) -> None:
    schema = roles.schema
    admin.command("CREATE SCHEMA {schema} AUTHORIZATION {owner}", schema=schema, owner=roles.owner)
    admin.command("GRANT USAGE ON SCHEMA {schema} TO {member}", schema=schema, member=roles.member)


def _migrate(admin: Admin, roles: Roles) -> int:
    """Run what is missing; how many migrations."""
    admin.one(sql.make_versions)
    current = admin.version()
    if current > schema_number():
        raise UpgradeNeeded(
            f"{admin.place}: group {roles.group} has schema {current}, this version knows"
            f" {schema_number()}; nothing was changed. `mash upgrade`."
        )
    missing = scripts()[current:]
    for number, name in enumerate(missing, current + 1):
        admin.raw.execute(migration(name, roles))
        admin.one(sql.add_version, version=number)
    return len(missing)
