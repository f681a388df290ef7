"""The Postgres backend: one connection for each command, under the login of one agent.

Imports psycopg. What a login may see is decided by the server: see sql/migrations/postgres.
"""

import os

from mash_plugin.errors import Internal, InvalidArgument, MashError, UpgradeNeeded
from mash_plugin.postgres import connection as postgres
from mash_plugin.postgres.connection import Advice
from mash_plugin.postgres.dsn import place_of, read_dsn_file, without_password
from mash_plugin.throughline.dsn import WRITER, connection_options
from mash_plugin.throughline.settings import Settings

MIGRATIONS = os.path.join(os.path.dirname(__file__), "sql", "migrations", "postgres")
ADVICE = Advice(
    login=f"Correct the login, or let {WRITER} make a new one (--new-password)."
    " What is queued stays queued.",
    away="What is queued stays queued; run it again when the server answers.",
    lost="what was not stored stays queued.",
    set_up=f"run {WRITER}.",
    denied="the login is not that agent's",
)
_LOOK = """
SELECT (SELECT max(version) FROM mm_schema), row_security_active('mm_memories'),
  (SELECT min(agent_id) FROM mm_agents)
"""


class PostgresDatabase(postgres.PostgresDatabase):
    """Runs the named queries over one connection, under the login of one agent."""

    agent: str | None = None

    def is_lost(self, error: MashError) -> bool:
        """Whether nothing more can be stored after it, rather than only one row."""
        return not isinstance(error, Internal) or self.is_closed

    def scrub(self) -> bool:
        """Leave it to the server, whose files are its own."""
        return True


def open_postgres(settings: Settings, *, to_write: bool) -> PostgresDatabase:
    """The store that the settings name, with the checks that keep agents apart.

    Raises SharedUnavailable or SharedAuthFailed, UpgradeNeeded for another schema, and
    InvalidArgument for a login that would see the rows of every agent.
    """
    options = connection_options(dsn_of(settings), os.environ, is_read_only=not to_write)
    db = PostgresDatabase(postgres.connect(options, ADVICE), place_of(options), ADVICE)
    try:
        db.agent = _checked(db)
    except BaseException:
        db.close()
        raise
    return db


def dsn_of(settings: Settings) -> str:
    """The connection string that the settings name. Raises InvalidArgument."""
    if settings.dsn:
        return without_password(settings.dsn, "MM_POSTGRES_DSN")
    return read_dsn_file(settings.dsn_file, writer=WRITER)


def schema_number() -> int:
    """The schema that this code reads and writes."""
    return len(scripts())


def scripts() -> list[str]:
    """The names of the migrations in their order."""
    return sorted(name for name in os.listdir(MIGRATIONS) if name.endswith(".sql"))


def _checked(db: PostgresDatabase) -> str:
    """Whose login it is."""
    version, is_kept_apart, agent = db.one(_LOOK, {}) or (None, False, None)
    newest = schema_number()
    if version is None or version < newest:
        raise UpgradeNeeded(
            f"{db.place} has schema {version or 0}, this version needs {newest};"
            " run meaning-memory setup-postgres."
        )
    if version > newest:
        raise UpgradeNeeded(
            f"{db.place} has schema {version}, this version knows {newest}; upgrade mash."
        )
    if not is_kept_apart:
        raise InvalidArgument(
            f"{db.place}: this login sees the memories of every agent (a superuser, or row"
            " security is off). Use the login that meaning-memory setup-postgres made."
        )
    if agent is None:
        raise InvalidArgument(f"{db.place}: this login belongs to no agent. Use that of an agent.")
    return str(agent)
