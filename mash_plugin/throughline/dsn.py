"""How the working buffer's Postgres is reached."""

from collections.abc import Mapping

from mash_plugin.postgres import dsn as postgres

FILE = "postgres.dsn"
SCHEMA = "meaning_memory"
WRITER = "meaning-memory setup-postgres"
CONNECT_S = 10
STATEMENT_MS = 30_000


def connection_options(
    dsn: str, environ: Mapping[str, str], *, is_read_only: bool
) -> dict[str, str]:
    """Everything that a connection is opened with. Raises InvalidArgument for one without TLS."""
    return postgres.connection_options(
        dsn,
        environ,
        schema=SCHEMA,
        application="meaning-memory",
        connect_s=CONNECT_S,
        statement_ms=STATEMENT_MS,
        is_read_only=is_read_only,
    )
