"""A member's connection to the group's server. psycopg is imported when one is opened.

Which schema it reads is said by the login's name: see names.py.
"""

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from mash_plugin.config import Settings
from mash_plugin.errors import InvalidArgument, SharedAuthFailed, SharedNotConfigured, UpgradeNeeded
from mash_plugin.group.cache import connection_file
from mash_plugin.group.deadline import within
from mash_plugin.group.names import Roles, roles_of_login
from mash_plugin.postgres.dsn import connection_options, missing_driver, parsed, read_dsn_file
from mash_plugin.store.queries import load

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

SQL_FOLDER = os.path.join(os.path.dirname(__file__), "sql")
WRITER = "`mash group join -`"
CONNECT_S = 2
READ_MS = 2_000
PUBLISH_MS = 30_000
sql: SimpleNamespace = load("session", SQL_FOLDER)


def dsn_file(settings: Settings) -> str:
    """Where the connection string lies. Raises SharedNotConfigured."""
    path = connection_file(settings)
    if path is None:
        raise SharedNotConfigured(
            "No group is joined: pipe the connection string that you were given into"
            " `mash group join -`."
        )
    return path


def open_group(
    settings: Settings, environ: Mapping[str, str], *, to_write: bool
) -> "GroupDatabase":
    """The group that the settings name, under the login of one of its members.

    Raises SharedNotConfigured, SharedUnavailable, SharedAuthFailed, UpgradeNeeded for another
    schema, and InvalidArgument where the login, or the server, keeps rows of members not apart.
    """
    dsn = read_dsn_file(dsn_file(settings), writer=WRITER)
    return open_dsn(dsn, environ, to_write=to_write)


def open_dsn(dsn: str, environ: Mapping[str, str], *, to_write: bool) -> "GroupDatabase":
    """The same for a connection string that is at hand."""
    roles = roles_of_login(parsed(dsn).get("user") or environ.get("PGUSER", ""))
    try:
        from mash_plugin.group.database import GroupDatabase
    except ImportError:
        raise missing_driver() from None
    options = connection_options(
        dsn,
        environ,
        schema=roles.schema,
        application="mash",
        connect_s=CONNECT_S,
        statement_ms=PUBLISH_MS if to_write else READ_MS,
        is_read_only=not to_write,
    )
    # A broken connection is noticed in as long as a statement may take.
    options |= {
        "tcp_user_timeout": str(READ_MS),
        "keepalives_idle": "1",
        "keepalives_interval": "1",
        "keepalives_count": "2",
    }

    def opened() -> GroupDatabase:
        db = GroupDatabase.connect(options, roles)
        try:
            _check(db, roles)
        except BaseException:
            db.close()
            raise
        return db

    return within(CONNECT_S + 1, opened, discard=lambda db: db.close())


def _check(db: "GroupDatabase", roles: Roles) -> None:
    """Learn who the login is; refuse one that is not bound as a member is."""
    from mash_plugin.group.schema import schema_number

    entered = db.one(sql.may_enter, {"schema": roles.schema})
    if entered is None:
        raise UpgradeNeeded(f"{db.place} has no group {roles.group}; ask whoever runs it.")
    if not entered[0]:
        raise _no_member(db.place, roles)
    looked = db.one(sql.look, {"owner": roles.owner})
    assert looked is not None  # noqa: S101 - one row always
    version, group_id, member, is_read_only, unbound = looked
    _check_schema(db.place, roles, version or 0, schema_number())
    if unbound is not None:
        raise InvalidArgument(
            f"{db.place}: this login may act as {unbound}, whom no rule between members binds. Use"
            " the connection string that `mash group add` printed for you."
        )
    if open_tables := db.all(sql.tables_open_to_all, {"schema": roles.schema}):
        raise InvalidArgument(
            f"{db.place}: row-level security is off on {open_tables[0][0]}, so that members could"
            f" change each other's records. Whoever runs the server turns it on again:"
            f' ALTER TABLE "{roles.schema}"."{open_tables[0][0]}" ENABLE ROW LEVEL SECURITY,'
            " FORCE ROW LEVEL SECURITY."
        )
    if member is None:
        raise _no_member(db.place, roles)
    db.group, db.group_id, db.member = roles.group, group_id, member
    db.is_read_only = bool(is_read_only)


def _no_member(place: str, roles: Roles) -> SharedAuthFailed:
    return SharedAuthFailed(
        f"{place}: this login is no member of {roles.group} (any more). Ask whoever runs the"
        " group, or `mash group leave`."
    )


def _check_schema(place: str, roles: Roles, version: int, newest: int) -> None:
    if version < newest:
        raise UpgradeNeeded(
            f"{place}: group {roles.group} has schema {version}, this version needs {newest}."
            f" Whoever runs the group brings it up to date: mash group init --admin-dsn -"
            f" {roles.group}"
        )
    if version > newest:
        raise UpgradeNeeded(
            f"{place}: group {roles.group} has schema {version}, this version knows {newest}:"
            " `mash upgrade`."
        )
