"""One connection to a Postgres server, and its errors in our words. Imports psycopg."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import psycopg
from psycopg import errors as faults

from mash_plugin.errors import (
    DiskFull,
    Internal,
    MashError,
    ReadOnly,
    SharedAuthFailed,
    SharedUnavailable,
    StoreBusy,
    TooLarge,
    UpgradeNeeded,
)
from mash_plugin.postgres.dsn import place_of

Row = tuple[Any, ...]
Params = Mapping[str, Any]
Connection = psycopg.Connection[Row]
OUR_LIMITS = "MA"
"""SQLSTATEs that our own triggers raise begin with it."""
# Servers speak the language of their machine: these are the words of those that are translated.
_DENIED = re.compile(
    "authenti|autenti|autentiz|аутентиф|автентиф|подлинност|autoryzac|doğrulama|認証|认证|認證|인증"
    "|not permitted to log in|permission denied for database",
    re.IGNORECASE,
)
_BUSY = (faults.QueryCanceled, faults.LockNotAvailable, faults.TransactionRollback)
_NOT_SET_UP = (faults.UndefinedTable, faults.InvalidSchemaName, faults.UndefinedFunction)


class Advice(NamedTuple):
    """What helps where a server cannot be used; each a sentence, or the end of one."""

    login: str
    """The server refuses the login."""
    away: str
    """It cannot be reached."""
    lost: str
    """The connection broke."""
    set_up: str
    """Our tables are not there."""
    denied: str
    """The login lacks a right."""
    denied_as: type[MashError] = Internal


class PostgresDatabase:
    """Runs the named queries over one connection."""

    def __init__(self, raw: Connection, place: str, advice: Advice) -> None:
        self._raw = raw
        self._advice = advice
        self.place = place
        self.waits_since: float | None = None
        """Since when the server was last heard of while something is asked of it."""
        self._depth = 0

    def one(self, sql: str, params: Params) -> Row | None:
        """The first row, or None."""
        with self._told():
            return self._raw.execute(for_psycopg(sql), params).fetchone()

    def all(self, sql: str, params: Params) -> list[Row]:
        """Every row."""
        with self._told():
            return self._raw.execute(for_psycopg(sql), params).fetchall()

    def run(self, sql: str, params: Params) -> None:
        """Execute to the end."""
        with self._told():
            self._raw.execute(for_psycopg(sql), params)

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Execute once for each row of parameters."""
        with self._told(), self._raw.cursor() as cursor:
            cursor.executemany(for_psycopg(sql), rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; the outermost one writes, the others are savepoints."""
        with self._told(), self._raw.transaction():
            yield

    @property
    def is_closed(self) -> bool:
        """Whether the connection is gone."""
        return self._raw.closed

    @property
    def descriptor(self) -> int:
        """The socket, for who must end a connection that another thread waits for."""
        return self._raw.fileno()

    def close(self) -> None:
        """Leave the server."""
        self._raw.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        self._depth += 1
        self.waits_since = time.monotonic()
        try:
            with told(self.place, self._advice):
                yield
        finally:
            self._depth -= 1
            self.waits_since = time.monotonic() if self._depth else None


def connect(options: Mapping[str, str], advice: Advice) -> Connection:
    """A connection that commits each statement unless told otherwise."""
    given: dict[str, Any] = dict(options)
    place = place_of(options)
    try:
        # Nothing is prepared: behind a pooler the next statement may meet another session.
        return psycopg.connect("", autocommit=True, prepare_threshold=None, **given)
    except psycopg.OperationalError as error:
        why = f"{place} cannot be used: {' '.join(str(error).split())}"
        why += "" if why.endswith((".", "?")) else "."
        if _is_denied(error):
            raise SharedAuthFailed(f"{why} {advice.login}") from None
        raise SharedUnavailable(f"{why} {advice.away}") from None


def _is_denied(error: psycopg.OperationalError) -> bool:
    """Whether the server refuses the login; the driver keeps no SQLSTATE of a failed connection."""
    text, raw = str(error), error.pgconn
    has_answered = raw is not None and raw.used_password  # before, names of hosts are in the text
    return "authentication failed" in text or (has_answered and bool(_DENIED.search(text)))


@contextmanager
def told(place: str, advice: Advice) -> Iterator[None]:
    """Errors of Postgres as ours; nothing of a row is in any of them."""
    try:
        yield
    except psycopg.Error as error:
        raise _fault(place, advice, error) from error


def _fault(place: str, advice: Advice, error: psycopg.Error) -> MashError:
    what = error.diag.message_primary or " ".join(str(error).split())
    match error:
        case faults.DiskFull():
            return DiskFull(f"{place}: the server's disk is full; nothing was saved.")
        case faults.ReadOnlySqlTransaction():
            return ReadOnly(f"{place} takes no writes ({what}); nothing was saved.")
        case faults.InsufficientPrivilege():
            return advice.denied_as(f"{place}: {advice.denied} ({what}).")
    if (error.sqlstate or "").startswith(OUR_LIMITS):
        return TooLarge(f"{place}: {what}; whoever runs the server can raise that.")
    if isinstance(error, _BUSY):
        return StoreBusy(f"{place} was busy ({what}); nothing was saved. Run it again.")
    if isinstance(error, _NOT_SET_UP):
        return UpgradeNeeded(f"{place} is not set up; {advice.set_up}")
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return SharedUnavailable(f"{place} went away ({what}); {advice.lost}")
    return Internal(f"{place}: {what}.")


@cache
def for_psycopg(sql: str) -> str:
    """A statement whose parameters are written `:name`, as psycopg takes it."""
    return re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", sql)
