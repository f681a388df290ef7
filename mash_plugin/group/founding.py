"""Make a group's schema, tables, rules and roles, or bring them up to date. Imports psycopg."""

import secrets
from typing import NamedTuple

from mash_plugin.errors import InvalidArgument, UpgradeNeeded
from mash_plugin.group.admin import Admin, administering
from mash_plugin.group.names import Roles, roles_of
from mash_plugin.group.schema import migration, schema_number, scripts
from mash_plugin.postgres.roles import may_become

_USED_IN = """
SELECT min(d.datname) FROM pg_shdepend AS s
JOIN pg_database AS d ON d.oid = s.dbid JOIN pg_roles AS r ON r.oid = s.refobjid
WHERE r.rolname = %s
"""


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
        there = admin.one("SELECT 1 FROM pg_namespace WHERE nspname = %s", roles.schema)
        if there is None:
            _make_roles(admin, roles)
        may_become(admin.raw, roles.owner)
        if there is None:
            _make_schema(admin, roles)
        with admin.as_owner(roles):
            migrated = _migrate(admin, roles)
            admin.one(
                "INSERT INTO group_info (group_id, name, created_at) VALUES (%s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                secrets.token_hex(16),
                group,
                now,
            )
        return Founded(admin.place, group, migrated, there is None)


def _make_roles(admin: Admin, roles: Roles) -> None:
    ours = (roles.owner, roles.member, roles.writer)
    for role in ours:
        if admin.has_role(role):
            raise _used_name(admin, roles, role)
    for role in ours:
        admin.one("CREATE ROLE {role} NOLOGIN", role=role)
    admin.one("GRANT {member} TO {writer}", member=roles.member, writer=roles.writer)


def _used_name(admin: Admin, roles: Roles, role: str) -> InvalidArgument:
    """Roles belong to the whole server: members of a group elsewhere must not be let in here."""
    found = admin.one(_USED_IN, roles.owner)
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
    admin.one("CREATE SCHEMA {schema} AUTHORIZATION {owner}", schema=schema, owner=roles.owner)
    admin.one("GRANT USAGE ON SCHEMA {schema} TO {member}", schema=schema, member=roles.member)


def _migrate(admin: Admin, roles: Roles) -> int:
    """Run what is missing; how many migrations."""
    admin.one("CREATE TABLE IF NOT EXISTS group_schema (version INTEGER PRIMARY KEY)")
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
        admin.one("INSERT INTO group_schema (version) VALUES (%s)", number)
    return len(missing)
