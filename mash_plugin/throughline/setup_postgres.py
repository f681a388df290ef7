"""Set up Postgres for one agent: schema, migrations, and a login that sees its rows alone.

Run as an administrator of the database; everything may be run again.
"""

import os
import re
import secrets
from collections.abc import Mapping
from typing import NamedTuple

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier, Literal

from mash_plugin.errors import InvalidArgument, UpgradeNeeded
from mash_plugin.file_writing import write_private
from mash_plugin.postgres.connection import Connection, connect, told
from mash_plugin.postgres.dsn import parsed, place_of
from mash_plugin.postgres.roles import make_ordinary, may_become
from mash_plugin.throughline.artifacts import memory_id
from mash_plugin.throughline.dsn import FILE, SCHEMA, connection_options
from mash_plugin.throughline.marks import STORE_FILE
from mash_plugin.throughline.postgres import (
    ADVICE,
    MIGRATIONS,
    open_postgres,
    schema_number,
    scripts,
)
from mash_plugin.throughline.settings import CONFIG_FILE, Settings

_ADVICE = ADVICE._replace(
    login="Correct the administrator's login on standard input; nothing was changed.",
    away="Correct the connection string on standard input, or run this again when the server"
    " answers; nothing was changed.",
    lost="nothing was changed; run this again.",
    denied="it takes an administrator's login",
)
OWNER, AGENTS = "mm_owner", "mm_agent"
_KEPT = ("host", "hostaddr", "port", "dbname", "sslmode", "sslrootcert")
"""What an agent's connection has in common with the administrator's."""
_ONE_AT_A_TIME = 0x6D6D_0001


class SetUp(NamedTuple):
    """What one run did."""

    agent: str
    place: str
    role: str
    file: str
    migrated: int
    is_new_login: bool

    def __str__(self) -> str:
        login = "made" if self.is_new_login else "kept"
        folder = os.path.dirname(self.file)
        told = (
            f"setup-postgres: {self.place}: {self.migrated} migration(s) run,"
            f" login {self.role} {login}, its connection is in {self.file}"
            "\nFrom now on set MM_BACKEND=postgres for every command, or write"
            f' backend = "postgres" into {os.path.join(folder, CONFIG_FILE)}'
        )
        if not os.path.exists(os.path.join(folder, STORE_FILE)):
            return told
        return (
            f"{told}\nThen move what {STORE_FILE} holds into Postgres:"
            f" meaning-memory consolidate --agent-id {self.agent} --file-to-postgres ..."
        )


def role_of(agent: str) -> str:
    """The login of an agent: readable, and never that of another agent."""
    readable = re.sub(r"[^a-z0-9]+", "_", agent.lower()).strip("_")[:40]
    return f"mm_{readable}_{memory_id('login', agent)[:8]}"


def set_up(admin_dsn: str, agent: str, config_dir: str, *, new_password: bool = False) -> SetUp:
    """Bring the schema up to date and give the agent its login; the file is written before.

    Raises InvalidArgument where the login exists and the file that holds its password does not,
    and where the file holds the login of another agent, which has no second copy.
    """
    options = connection_options(admin_dsn, os.environ, is_read_only=False)
    place, file = place_of(options), os.path.join(config_dir, FILE)
    _refuse_other_login(file, role_of(agent))
    admin = connect(options, _ADVICE)
    with told(place, _ADVICE), admin, admin.transaction():
        admin.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
        _make_roles(admin)
        migrated = _migrate(admin, place)
        is_new = _make_login(admin, agent, file, options, new_password=new_password)
    # Through the agent's own eyes: it is told now, not in the night, when this login cannot work.
    open_postgres(Settings(config_dir, "postgres", dsn_file=file), to_write=True).close()
    return SetUp(agent, place, role_of(agent), file, migrated, is_new)


def _make_roles(admin: Connection) -> None:
    for role in (OWNER, AGENTS):
        if not _exists(admin, role):
            admin.execute(SQL("CREATE ROLE {} NOLOGIN NOINHERIT").format(Identifier(role)))
    may_become(admin, OWNER)
    schema, owner = Identifier(SCHEMA), Identifier(OWNER)
    admin.execute(SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}").format(schema, owner))
    admin.execute(SQL("REVOKE ALL ON SCHEMA {} FROM PUBLIC").format(schema))
    admin.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, Identifier(AGENTS)))


def _migrate(admin: Connection, place: str) -> int:
    """Run what is missing as the owner; how many migrations."""
    admin.execute(SQL("SET LOCAL ROLE {}").format(Identifier(OWNER)))
    # Named: with pg_catalog first, a bare CREATE TABLE would go there.
    admin.execute(SQL("SET LOCAL search_path = {}, pg_temp").format(Identifier(SCHEMA)))
    admin.execute("CREATE TABLE IF NOT EXISTS mm_schema (version INTEGER PRIMARY KEY)")
    row = admin.execute("SELECT coalesce(max(version), 0) FROM mm_schema").fetchone()
    current = int(row[0]) if row else 0
    if current > schema_number():
        raise UpgradeNeeded(
            f"{place} has schema {current}, this version knows {schema_number()}; upgrade mash."
        )
    missing = scripts()[current:]
    for number, name in enumerate(missing, current + 1):
        with open(os.path.join(MIGRATIONS, name), "rb") as script:
            admin.execute(script.read())
        admin.execute("INSERT INTO mm_schema (version) VALUES (%s)", (number,))
    return len(missing)


def _make_login(
    admin: Connection, agent: str, file: str, options: Mapping[str, str], *, new_password: bool
) -> bool:
    """Whether the agent got a new password. Runs as the owner, and again as the administrator."""
    role = role_of(agent)
    admin.execute(
        "INSERT INTO mm_agents (role_name, agent_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (role, agent),
    )
    admin.execute("RESET ROLE")
    is_there = _exists(admin, role)
    if is_there and not new_password:
        _refuse_lost_password(file, role)
    name = Identifier(role)
    if not is_there:
        admin.execute(SQL("CREATE ROLE {} LOGIN").format(name))
    admin.execute(SQL("GRANT {} TO {}").format(Identifier(AGENTS), name))
    make_ordinary(admin, role)
    admin.execute(
        SQL("ALTER ROLE {} SET search_path = pg_catalog, {}, pg_temp").format(
            name, Identifier(SCHEMA)
        )
    )
    if is_there and not new_password:
        return False
    password = secrets.token_urlsafe(24)
    # Only a hash of it goes to the server, whose log may keep statements.
    verifier = admin.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
    admin.execute(SQL("ALTER ROLE {} PASSWORD {}").format(name, Literal(verifier.decode())))
    kept = {key: options[key] for key in _KEPT if options.get(key)}
    kept.setdefault("dbname", admin.info.dbname)
    write_private(file, make_conninfo("", **kept, user=role, password=password) + "\n")
    return True


def _refuse_other_login(file: str, role: str) -> None:
    user = _user_in(file)
    if user not in (None, role):
        raise InvalidArgument(
            f"{file} holds the login {user or 'of nobody'}, not {role}, and was left as it is."
            " Give each agent a --config-dir of its own, or move that file away."
        )


def _refuse_lost_password(file: str, role: str) -> None:
    if _user_in(file) is None:
        raise InvalidArgument(
            f"The login {role} exists, but {file} is missing. Give the --config-dir that has it,"
            " or --new-password; the former password then stops working everywhere."
        )


def _user_in(file: str) -> str | None:
    """Whose login the file holds; None where there is no file."""
    try:
        with open(file, encoding="utf-8") as found:
            return parsed(found.read().strip()).get("user", "")
    except FileNotFoundError:
        return None


def _exists(admin: Connection, role: str) -> bool:
    found = admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone()
    return found is not None
