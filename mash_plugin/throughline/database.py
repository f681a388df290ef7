"""The file backend: one SQLite file in the workspace, opened for each command."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shlex import quote

import apsw

from mash_plugin.errors import Internal, MashError, ReadOnly, StoreDamaged, UpgradeNeeded
from mash_plugin.store.connect import APPLICATION_ID, connect, connect_reading, refuse_foreign
from mash_plugin.store.faults import translated, translated_files
from mash_plugin.throughline.backend import Params, Row
from mash_plugin.throughline.marks import STORE_FILE

FILE = STORE_FILE
MASH_DOCTOR = " Run `mash doctor`."
# Not importlib.resources: it would double what a small drain costs.
_MIGRATIONS = os.path.join(os.path.dirname(__file__), "sql", "migrations", "file")
CACHE_KIB = 48 << 10
"""The words of a drain go all over their table; read again and again it takes ten times longer."""


class FileDatabase:
    """Runs the named queries over one SQLite connection."""

    agent: str | None = None

    def __init__(self, raw: apsw.Connection, path: str) -> None:
        self._raw = raw
        self.place = path

    def one(self, sql: str, params: Params) -> Row | None:
        """The first row, or None."""
        with _told(self.place):
            return next(iter(self._raw.execute(sql, params)), None)

    def all(self, sql: str, params: Params) -> list[Row]:
        """Every row."""
        with _told(self.place):
            return list(self._raw.execute(sql, params))

    def run(self, sql: str, params: Params) -> None:
        """Execute to the end."""
        with _told(self.place):
            list(self._raw.execute(sql, params))

    def run_many(self, sql: str, rows: Sequence[Params]) -> None:
        """Execute once for each row of parameters."""
        with _told(self.place):
            self._raw.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; the outermost one writes to the disk."""
        with _told(self.place):
            if not self._raw.in_transaction:
                self._raw.execute("BEGIN IMMEDIATE")
                try:
                    yield
                except BaseException:
                    if self._raw.in_transaction:
                        self._raw.execute("ROLLBACK")
                    raise
                self._raw.execute("COMMIT")
            else:
                with self._raw:  # a savepoint
                    yield

    def is_lost(self, error: MashError) -> bool:
        """Whether nothing more can be stored after it, rather than only one row."""
        return not isinstance(error, Internal) or not self._raw.in_transaction

    def scrub(self) -> bool:
        """Overwrite what deleted rows left in the file; False while another program reads it.

        The caller keeps other writers away.
        """
        from mash_plugin.store.scrub import zero_while_locked

        with _told(self.place):
            [(is_busy, *_)] = list(self._raw.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
            if is_busy:
                return False
            start: int | None = 0
            while start is not None:
                start = zero_while_locked(self._raw, self.place, start)
        return True

    def close(self) -> None:
        """Leave one file behind: the last connection moves the log into it."""
        with _told(self.place):
            self._raw.close()


@contextmanager
def _told(place: str) -> Iterator[None]:
    """Errors of SQLite as ours; a row that breaks a rule of the schema is an Internal one."""
    with _with_way_out(place), translated(place):
        try:
            yield
        except (apsw.ConstraintError, apsw.SQLError, apsw.TooBigError, apsw.MismatchError) as error:
            raise Internal(f"{place}: {error}.") from error


@contextmanager
def _with_way_out(place: str) -> Iterator[None]:
    """Say of a damaged store what sets it aside: `mash doctor` need not know this workspace."""
    try:
        yield
    except StoreDamaged as error:
        said = error.message.removesuffix(MASH_DOCTOR)
        raise StoreDamaged(f"{said} {way_out(place)}") from (error.__cause__ or error)


def way_out(place: str) -> str:
    """The command that sets a damaged store aside."""
    folder = quote(os.path.dirname(place))
    return (
        f"To set it aside and begin a new one: meaning-memory doctor --fix --config-dir {folder}."
        " Nothing is deleted; then capture again what you still have."
    )


def database_path(workspace: str) -> str:
    """Where the store of a workspace lies."""
    return os.path.join(workspace, FILE)


def open_file(workspace: str, *, to_write: bool) -> FileDatabase:
    """The store of a workspace; for reading a missing one is empty, and nothing is created.

    Raises UpgradeNeeded for a newer schema, StoreDamaged, ReadOnly or StoreBusy.
    """
    path = database_path(workspace)
    with _with_way_out(path), translated(path), translated_files(path):
        if to_write:
            raw = connect(path, "FULL", may_create=True)
            list(raw.execute(f"PRAGMA cache_size = {-CACHE_KIB}"))
        elif os.path.exists(path):
            _refuse_unreadable(path)
            raw = _connect_to_read(path)
        else:
            raw = apsw.Connection(":memory:")
        try:
            _migrate(raw, path)
        except BaseException:
            raw.close()
            raise
    return FileDatabase(raw, path)


def _refuse_unreadable(path: str) -> None:
    if not os.access(path, os.R_OK):
        raise ReadOnly(
            f"{path} cannot be read by this user; it belongs to another one."
            " Run this as that user, or name another folder (--config-dir, --workspace)."
        )


def schema_number() -> int:
    """The schema that this code writes."""
    return len(_scripts())


def _connect_to_read(path: str) -> apsw.Connection:
    if os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK):
        return connect(path, "FULL")
    return connect_reading(path)


def _migrate(raw: apsw.Connection, path: str) -> None:
    newest, current = schema_number(), _version(raw)
    if current > newest:
        raise UpgradeNeeded(
            f"{path} has schema {current}, this version knows {newest}; upgrade mash."
        )
    if current:
        refuse_foreign(raw, path)
    if current == newest:
        return
    raw.execute("BEGIN IMMEDIATE")
    with raw:
        for name in _scripts()[_version(raw) :]:  # another process may have been first
            with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as file:
                list(raw.execute(file.read()))
        list(raw.execute(f"PRAGMA user_version = {newest}"))
        list(raw.execute(f"PRAGMA application_id = {APPLICATION_ID}"))
    raw.execute("COMMIT")


def _version(raw: apsw.Connection) -> int:
    return int(next(iter(raw.execute("PRAGMA user_version")))[0])


def _scripts() -> list[str]:
    return sorted(name for name in os.listdir(_MIGRATIONS) if name.endswith(".sql"))
