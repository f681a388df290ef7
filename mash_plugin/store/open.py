"""Open the two databases for service, whatever state the last process left them in.

The record store: a healthy file is served. One that is damaged, empty, foreign, or missing
although backups exist (or its log does) is never replaced by an empty memory: nothing is
renamed or deleted, the newest good backup is served read-only, and every write raises
StoreDamaged with the `mash restore` line that repairs it. Without a good backup opening
itself raises StoreDamaged. A full disk or a read-only file system gives a reading service.

The chat index can be built again from transcripts: a damaged one is set aside and begun anew.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import apsw

from mash_plugin.errors import DiskFull, MashError, ReadOnly, StoreDamaged
from mash_plugin.paths import Paths
from mash_plugin.store import reserve
from mash_plugin.store.connect import APPLICATION_ID, connect_reading
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.faults import translated, translated_files
from mash_plugin.store.files import drop_aside, make_private_folder, remove_database, set_aside
from mash_plugin.store.mark import Mark, take_mark
from mash_plugin.store.migrate import migrate, refuse_newer, schema_number
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection, Database, Durability
from mash_plugin.syncing import sync_folder


def open_store(paths: Paths, now: int) -> Database:
    """The record store; `problem` says why it takes no writes, if it does not.

    Raises StoreBusy when another process serves it, UpgradeNeeded for a newer schema,
    StoreDamaged when neither the file nor a backup can be served.
    """
    with _marked(paths.store, paths.data) as mark:
        database = _store_or_backup(paths, mark, now)
    if database.is_unchecked and not database.problem:
        check_in_background(database)
    return database


def open_chats(paths: Paths) -> Database:
    """The chat index; a damaged one is kept under another name and begun anew."""
    with _marked(paths.chats, paths.data) as mark:
        database = _chats_or_new(paths.chats, mark)
    database.is_unchecked = False  # only a fault that was met asks for a check of so large a file
    return database


def restore_line(paths: Paths) -> str:
    """The exact shell command that restores the store from the newest good backup.

    It names no backup: a daemon that still reads a deleted store makes a newer one on its way out.
    """
    from shlex import quote  # here, since it imports `re`

    return f"env MASH_HOME={quote(paths.home)} mash restore" if paths.home else "mash restore"


def refuse_if_lost(paths: Paths) -> None:
    """Raise StoreDamaged when the missing store had been there: deleted, not new."""
    from mash_plugin.store.backup import backups

    if backups(paths.backups):
        raise StoreDamaged(f"{paths.store} is missing, but backups of it exist.")
    try:
        size = os.path.getsize(paths.store + "-wal")
    except OSError:
        return
    if size:
        raise StoreDamaged(f"{paths.store} is missing, but its log {paths.store}-wal is there.")


def check_in_background(database: Database) -> None:
    """Check every page on a connection of its own; what it finds stops writing.

    `database.check` is the thread; closing the database breaks it off, and the mark stays.
    """
    connections: list[apsw.Connection] = []

    def check() -> None:
        try:
            check_whole(database.path, connections.append)
            database.is_unchecked = False
        except StoreDamaged as error:
            database.stop(error)
        except (MashError, apsw.InterruptError):
            return  # busy, out of memory, or closed: the next unclean start checks again

    def break_off() -> None:
        while thread.is_alive():
            for raw in connections:
                with suppress(apsw.Error):
                    raw.interrupt()
            thread.join(0.01)

    thread = threading.Thread(target=check, name="quick-check", daemon=True)
    database.check, database.before_close = thread, break_off
    thread.start()


def check_whole(path: str, on_open: Callable[[apsw.Connection], None] = lambda _: None) -> None:
    """Raise StoreDamaged when SQLite's quick_check objects to the file."""
    from mash_plugin.store.backup import quick_check

    with translated(path):
        raw = connect_reading(path)
        try:
            on_open(raw)
            problem = quick_check(raw)
        finally:
            raw.close()
    if problem:
        raise StoreDamaged(f"{path} is damaged: {problem}. Run `mash doctor`.")


@contextmanager
def _marked(path: str, data: str) -> Iterator[Mark | None]:
    """The mark of a database that is opened within; it is given back where that fails."""
    with translated_files(path):
        make_private_folder(data)
    mark = take_mark(path)
    try:
        with translated_files(path):
            yield mark
    except BaseException:
        if mark:
            mark.release(is_clean=not mark.was_left)
        raise


def _store_or_backup(paths: Paths, mark: Mark | None, now: int) -> Database:
    path = paths.store
    try:
        if not os.path.lexists(path):
            from mash_plugin.store.network import refuse_network  # once in the life of a store

            refuse_if_lost(paths)
            refuse_network(paths)
            _create(path, "records", "FULL", now)
        elif os.path.isfile(path) and not os.path.getsize(path):
            raise StoreDamaged(f"{path} is empty; it was left as it is.")
        database = _healthy(path, "records", "FULL", mark, paths.backups, now)
    except StoreDamaged as error:
        return _newest_backup(paths, mark, error)
    if not database.problem:
        reserve.keep(path)
    return database


def _chats_or_new(path: str, mark: Mark | None) -> Database:
    if not os.path.lexists(path):
        _create(path, "chats", "NORMAL", None)
    try:
        return _healthy(path, "chats", "NORMAL", mark)
    except StoreDamaged:
        drop_aside(path, "damaged")  # the last one is enough to look at
        set_aside(path, "damaged")
        _create(path, "chats", "NORMAL", None)
        return _healthy(path, "chats", "NORMAL", mark)


def _healthy(
    path: str,
    family: str,
    durability: Durability,
    mark: Mark | None,
    backups: str | None = None,
    now: int = 0,
) -> Database:
    """Open, check after a fault, migrate; reading only where the disk allows no more."""
    is_checked = bool(mark and mark.is_suspect)
    if mark and is_checked:
        check_whole(path)
        mark.trust()
    try:
        if mark is None:
            raise ReadOnly(f"No file can be made in {os.path.dirname(path)}; nothing was saved.")
        database = Database(path, durability, access="existing", mark=mark)
    except DiskFull as error:
        database = Database(path, durability, access="exclusive", problem=error, mark=mark)
    except ReadOnly as error:
        database = Database(path, durability, access="frozen", problem=error, mark=mark)
    try:
        database.is_unchecked = database.is_unchecked and not is_checked
        _bring_up_to_date(database, family, backups, now)
    except BaseException:
        database.mark = None  # the caller has it
        database.close()
        raise
    return database


def _bring_up_to_date(database: Database, family: str, backups: str | None, now: int) -> None:
    current, newest = database.schema(), schema_number(family)
    refuse_newer(database.path, current, newest)
    if current == newest:
        return
    if backups:
        from mash_plugin.store.backup import make

        make(database, backups, now)
        failpoint("records_migration_backed_up")
    migrate(database, family)


def _newest_backup(paths: Paths, mark: Mark | None, found: StoreDamaged) -> Database:
    from mash_plugin.store.backup import newest_good, verify

    backup = newest_good(paths.backups)
    if backup is None:
        raise StoreDamaged(
            f"{found.message} No good backup lies in {paths.backups}. Nothing was changed;"
            f" to begin an empty memory, move {paths.store}* and that folder away."
        ) from found
    line = restore_line(paths)
    problem = StoreDamaged(
        f"{found.message} Nothing was saved; reading the backup {backup.path}. To repair: {line}",
        restore=line,
    )
    if verify(backup.path).schema != schema_number("records"):
        raise problem from found
    database = Database(backup.path, "FULL", access="frozen", problem=problem, mark=mark)
    if mark:
        # The mark stays, so that the next process checks the store before it serves it.
        mark.suspect()
        database.is_unchecked = True
    return database


def _create(path: str, family: str, durability: Durability, now: int | None) -> None:
    """Make a new database under another name and give it its own when it is whole."""
    part = path + ".new"
    remove_database(part)
    try:
        database = Database(part, durability)
        try:
            migrate(database, family)
            with database.writing() as db:
                db.run(f"PRAGMA application_id = {APPLICATION_ID}")
                if now is not None:
                    _found_identity(db, now)
            database.checkpoint("TRUNCATE")  # a failing one at close would be passed over
        finally:
            database.close()
        os.rename(part, path)
        sync_folder(os.path.dirname(path))
    finally:
        remove_database(part)


def _found_identity(db: Connection, now: int) -> None:
    """Who this store is: its node, its owner, and the secret that its receipts are keyed with."""
    sql, owner_id = load("identity"), os.urandom(16).hex()
    rows = {
        "node_id": os.urandom(16).hex().encode(),
        "owner_id": owner_id.encode(),
        "receipt_secret": os.urandom(32),
    }
    for key, value in rows.items():
        db.run(sql.set_meta, {"key": key, "value": value})
    db.run(sql.insert_owner, {"owner_id": owner_id, "now": now})
