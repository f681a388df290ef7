"""Take an export in: the file is checked whole first, then written in one transaction.

The records and what marks the import as done commit together. The chats commit just before: a
process that dies in between leaves chats without records, which the next try finds known.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mash_plugin.errors import InvalidArgument, MashError, RecordsDisabled
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.forget_chat import finish_forgetting
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.forgotten import has_mark
from mash_plugin.store.operations import identity_of
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection
from mash_plugin.transfer.chats_in import ChatsIn
from mash_plugin.transfer.files import opened
from mash_plugin.transfer.lines import Line, Numbered, Reader
from mash_plugin.transfer.meter import Meter
from mash_plugin.transfer.names import Mode, Names
from mash_plugin.transfer.private_in import PrivateIn
from mash_plugin.transfer.records_in import Gate, RecordsIn, constrained

RETIRE = (
    "This store is now the one that the export was made of. Retire the original: two stores with"
    " one identity answer for each other's operations."
)
_SQL = load("transfer")
Json = dict[str, Any]


class _OnlyTried(Exception):
    """Everything went well, and nothing is to be kept."""


def import_file(
    call: Call,
    path: str,
    mode: Mode,
    *,
    is_dry_run: bool = False,
    agreed: str | None = None,
    meter: Meter | None = None,
) -> Json:
    """Take in all of an export, or nothing; what was taken in.

    The same file is taken in once: again, it is told when that was. `agreed`: the checksum of
    the file that the person was shown. Raises InvalidArgument with the line at fault or for
    another file than that, UpgradeNeeded for a newer format, TooLarge for what no export holds,
    InvalidState when the meter breaks it off.
    """
    meter = meter or Meter()
    if mode != "identity" and not call.settings.records_enabled:
        raise RecordsDisabled
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        meter.begin("Checking", size, "bytes")
        reader = Reader(file, meter)
        _refuse_incomplete(reader.header, mode)
        for _ in reader:
            pass
        with call.store.reading() as db:
            done = _earlier(db, reader, mode)
        if done is not None:
            return done
        if agreed not in (None, reader.checksum):
            raise InvalidArgument(
                f"{path} is not the file that you were shown: it was replaced meanwhile. Nothing"
                " was imported."
            )
        meter.begin("Trying" if is_dry_run else "Importing", size, "bytes")
        return _take_in(call, reader, mode, is_dry_run=is_dry_run)


def _take_in(call: Call, reader: Reader, mode: Mode, *, is_dry_run: bool) -> Json:
    """Write what the reader has found to be good; what was taken in."""
    counts: Json = {}
    try:
        done = _write(call, reader, mode, counts, is_dry_run=is_dry_run)
        if done is not None:
            return done
        if mode == "identity":
            call.chats.forget_private_key()
            finish_forgetting(call)
    except _OnlyTried:
        pass
    finally:
        _shrink_logs(call)
    result: Json = {"header": reader.header, "lines": dict(reader.counts), "counts": counts}
    result |= {"checksum": reader.checksum, "mode": mode, "dry_run": is_dry_run, "already": None}
    return result | {"notice": RETIRE if mode == "identity" else None}


def _shrink_logs(call: Call) -> None:
    """Give back the room of the logs: what was taken back too stands there, as large as the file.

    On a disk that it filled nothing else could be saved.
    """
    for database in (call.chats.database, call.store):
        with suppress(MashError):  # a reader needs it still: the next checkpoint does it
            database.checkpoint("TRUNCATE")


def _write(
    call: Call, reader: Reader, mode: Mode, counts: Json, *, is_dry_run: bool
) -> Json | None:
    """What another import has made of the file meanwhile, if one has."""
    with call.store.writing() as db:
        done = _earlier(db, reader, mode)
        if done is not None:
            return done
        # The note of this import must not outlive what it tells of.
        with call.chats.database.synced(), call.chats.database.writing() as chats:
            work = _Import(call, db, chats, reader.again(), mode, reader.checksum)
            work.run()
            counts |= work.counts() | {"is_own_store": work.is_own_store}
            if is_dry_run:
                raise _OnlyTried
            failpoint("import_before_commit")
        failpoint("import_between_stores")
    failpoint("import_after_commit")
    return None


class _Import:
    """One import inside both writes."""

    def __init__(
        self,
        call: Call,
        db: Connection,
        chats: Connection,
        reader: Reader,
        mode: Mode,
        checksum: str,
    ) -> None:
        header = reader.header
        self._db, self._reader, self._mode, self._checksum = db, reader, mode, checksum
        self._now, self._id = call.now, call.new_id()
        if mode == "identity":
            _refuse_used(db)
        self._names = Names(mode, identity_of(db), header["node"], header["owner"])
        self.is_own_store = header["owner"] == self._names.identity.owner
        gate = Gate(mode == "identity", call.settings.extra_patterns)
        self.records = RecordsIn(db, self._names, gate, self._id)
        takes_hashes = mode == "identity" and chats.one(_SQL.has_shingles) is None
        self.chats = ChatsIn(
            chats,
            lambda chat_id: has_mark(db, chat_id),
            Denied(call, "index").has_scope,
            is_persons=mode != "export",
            takes_hashes=takes_hashes,
        )
        self.private = PrivateIn(call, db, chats if takes_hashes else None)

    def run(self) -> None:
        """Write every line; raises what is wrong with one."""
        if self._mode == "identity":
            self.private.become(self._reader.header)
        self._note()
        apply = self._handlers()
        kind, here = "", Numbered(1, {})
        for here in self._reader:
            if here.line["is"] != kind:
                kind = here.line["is"]
                if kind not in ("chat", "message"):
                    self.chats.finish()
                if kind not in ("record", "revision"):
                    self.records.finish()
                failpoint(f"import_{kind}")
            with constrained(here):
                apply[kind](here)
        self.chats.finish()
        self.records.finish()
        self.records.refuse_cycles(here)
        if self._mode == "identity":
            self._refuse_half(here)
        if self._reader.checksum != self._checksum:
            raise InvalidArgument("The file was changed meanwhile. Nothing was imported.")
        self._db.run(_SQL.count_imported, {"import_id": self._id, "records": self.records.new})

    def _refuse_half(self, here: Numbered) -> None:
        """Raise where the store would not know who it is."""
        if self._reader.counts["keys"] != 1 or not self.private.has_owner():
            raise here.fault("the keys or the owner of the store are not in the file")

    def counts(self) -> Json:
        """What was taken in, and what was not and why."""
        records, chats = self.records, self.chats
        return {
            "import_id": self._id,
            "records": records.new,
            "links": records.links,
            "chats": chats.new,
            "messages": chats.messages,
            "copies": records.copies,
            "known_records": records.known,
            "known_chats": chats.known,
            "same_records": records.same,
            "forgotten_records": records.forgotten,
            "forgotten_chats": chats.forgotten,
            "switched_off_chats": chats.off,
        }

    def _handlers(self) -> dict[str, Callable[[Numbered], None]]:
        private = self.private if self._mode == "identity" else None
        return {
            "owner": self._owner,
            "chat": self.chats.chat,
            "message": self.chats.message,
            "record": self.records.record,
            "revision": self.records.revision,
            "link": self.records.link,
            "checkpoint": self._checkpoint,
            **{
                kind: getattr(private, kind) if private else _pass_over
                for kind in ("keys", "receipt", "forgotten", "imported")
            },
        }

    def _note(self) -> None:
        header = self._reader.header
        row: Json = {"import_id": self._id, "kind": self._mode, "source": _source(header)}
        row |= {"checksum": bytes.fromhex(self._checksum), "chat_id": None, "records": 0}
        self._db.run(_SQL.insert_import, row | {"imported_at": self._now})

    def _owner(self, here: Numbered) -> None:
        line = here.line
        owner = self._names.owner(line["id"])
        is_kept = self._mode == "identity"
        if is_kept or owner != self._names.identity.owner:
            row = {"owner_id": owner, "label": line["label"], "created_at": line["created_at"]}
            self._db.run(
                _SQL.insert_owner, row | {"origin": line["origin"] if is_kept else "import"}
            )

    def _checkpoint(self, here: Numbered) -> None:
        owner = self._names.owner(here.line["owner"])
        self._db.run(_SQL.insert_checkpoint, here.line | {"owner": owner})


def _pass_over(_here: Numbered) -> None:
    """Leave out what only the store itself can use again."""


def _source(header: Line) -> str:
    return f"{header['node']}/{header['generation']}"


def _refuse_incomplete(header: Line, mode: Mode) -> None:
    if mode == "identity" and not header["complete"]:
        what = "masked" if header["masked"] else "of some scopes alone"
        raise InvalidArgument(
            f"This export is {what}: the store cannot be built again from it. Import it without"
            " --keep-identity. Nothing was imported."
        )


def _refuse_used(db: Connection) -> None:
    row = db.one(_SQL.is_empty)
    if not (row and row[0]):
        raise InvalidArgument(
            "--keep-identity needs an empty store, and this one remembers something. Move it away,"
            " or import without --keep-identity. Nothing was imported."
        )


def _earlier(db: Connection, reader: Reader, mode: Mode) -> Json | None:
    """What is told of a file that was taken in before; None for a new one."""
    key: Json = {"kind": mode, "source": _source(reader.header)}
    key |= {"checksum": bytes.fromhex(reader.checksum)}
    row = db.one(_SQL.find_import, key)
    if row is None:
        return None
    return {
        "header": reader.header,
        "lines": dict(reader.counts),
        "checksum": reader.checksum,
        "mode": mode,
        "dry_run": False,
        "already": {"import_id": row[0], "records": row[1], "imported_at": row[2]},
        "counts": {},
        "notice": None,
    }
