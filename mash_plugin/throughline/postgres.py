"""The Postgres backend: one connection for each command, under the login of one agent.

Imports psycopg. What a login may see is decided by the server: see sql/migrations/postgres.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import errors as faults

from mash_plugin.errors import (
    DiskFull,
    Internal,
    InvalidArgument,
    MashError,
    ReadOnly,
    SharedAuthFailed,
    SharedUnavailable,
    StoreBusy,
    UpgradeNeeded,
)
from mash_plugin.throughline.backend import Params, Row
from mash_plugin.throughline.dsn import (
    connection_options,
    place_of,
    read_dsn_file,
    without_password,
)
from mash_plugin.throughline.settings import Settings

Connection = psycopg.Connection[Row]
MIGRATIONS = os.path.join(os.path.dirname(__file__), "sql", "migrations", "postgres")
_LOOK = """
SELECT (SELECT max(version) FROM mm_schema), row_security_active('mm_memories'),
  (SELECT min(agent_id) FROM mm_agents)
"""
_BUSY = (faults.QueryCanceled, faults.LockNotAvailable, faults.TransactionRollback)
_NOT_SET_UP = (faults.UndefinedTable, faults.InvalidSchemaName, faults.UndefinedFunction)


class PostgresDatabase:
    """Runs the named queries over one connection."""

    def __init__(self, raw: Connection, place: str) -> None:
        self._raw = raw
        self.place = place
        self.agent: str | None = None

    def one(self, sql: str, params: Params) -> Row | None:
        """The first row, or None."""
        with told(self.place):
            return self._raw.execute(_for_psycopg(sql), params).fetchone()

    def all(self, sql: str, params: Params) -> list[Row]:
        """Every row."""
        with told(self.place):
            return self._raw.execute(_for_psycopg(sql), params).fetchall()

    def run(self, sql: str, params: Params) -> None:
        """Execute to the end."""
        with told(self.place):
            self._raw.execute(_for_psycopg(sql), params)

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Execute once for each row of parameters."""
        with told(self.place), self._raw.cursor() as cursor:
            cursor.executemany(_for_psycopg(sql), rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; the outermost one writes, the others are savepoints."""
        with told(self.place), self._raw.transaction():
            yield

    def is_lost(self, error: MashError) -> bool:
        """Whether nothing more can be stored after it, rather than only one row."""
        return not isinstance(error, Internal) or self._raw.closed

    def close(self) -> None:
        """Leave the server."""
        self._raw.close()


def open_postgres(settings: Settings, *, to_write: bool) -> PostgresDatabase:
    """The store that the settings name, with the checks that keep agents apart.

    Raises SharedUnavailable or SharedAuthFailed, UpgradeNeeded for another schema, and
    InvalidArgument for a login that would see the rows of every agent.
    """
    options = connection_options(dsn_of(settings), os.environ, is_read_only=not to_write)
    db = PostgresDatabase(connect(options), place_of(options))
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
    return read_dsn_file(settings.dsn_file)


def connect(options: Mapping[str, str]) -> Connection:
    """A connection that commits each statement unless told otherwise."""
    given: dict[str, Any] = dict(options)
    place = place_of(options)
    try:
        return psycopg.connect("", autocommit=True, **given)
    except psycopg.OperationalError as error:
        why = f"{place} cannot be used: {' '.join(str(error).split())}"
        if error.sqlstate in ("28P01", "28000") or "authentication" in why:
            raise SharedAuthFailed(
                f"{why} Correct the login, or let meaning-memory setup-postgres make a new one"
                " (--new-password). What is queued stays queued."
            ) from None
        raise SharedUnavailable(
            f"{why} What is queued stays queued; run it again when the server answers."
        ) from None


def schema_number() -> int:
    """The schema that this code reads and writes."""
    return len(scripts())


def scripts() -> list[str]:
    """The names of the migrations in their order."""
    return sorted(name for name in os.listdir(MIGRATIONS) if name.endswith(".sql"))


@contextmanager
def told(place: str) -> Iterator[None]:
    """Errors of Postgres as ours; nothing of a row is in any of them."""
    try:
        yield
    except psycopg.Error as error:
        raise _fault(place, error) from error


def _fault(place: str, error: psycopg.Error) -> MashError:
    what = error.diag.message_primary or " ".join(str(error).split())
    match error:
        case faults.DiskFull():
            return DiskFull(f"{place}: the server's disk is full; nothing was saved.")
        case faults.ReadOnlySqlTransaction():
            return ReadOnly(f"{place} takes no writes ({what}); nothing was saved.")
        case faults.InsufficientPrivilege():
            return Internal(f"{place}: the login is not that agent's ({what}).")
    if isinstance(error, _BUSY):
        return StoreBusy(f"{place} was busy ({what}); nothing was saved. Run it again.")
    if isinstance(error, _NOT_SET_UP):
        return UpgradeNeeded(f"{place} is not set up; run meaning-memory setup-postgres.")
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return SharedUnavailable(f"{place} went away ({what}); what was not stored stays queued.")
    return Internal(f"{place}: {what}.")


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


@cache
def _for_psycopg(sql: str) -> str:
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", sql)
