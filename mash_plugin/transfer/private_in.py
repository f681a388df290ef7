"""What only the same store can use again: its identity, receipts and marks (R-163)."""

import os

from mash_plugin.memory.call import Call
from mash_plugin.store.operations import identity_of
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection
from mash_plugin.transfer.lines import Line, Numbered

SECRET_BYTES = 32
_SQL = load("transfer")


class PrivateIn:
    """Writes them into an empty store; `chats` None: the index keeps its own key."""

    def __init__(self, call: Call, db: Connection, chats: Connection | None) -> None:
        self._call = call
        self._db = db
        self._chats = chats

    def become(self, header: Line) -> None:
        """Take over who the source is, as another generation of it."""
        former = identity_of(self._db).owner
        for key, value in (
            ("node_id", header["node"].encode()),
            ("owner_id", header["owner"].encode()),
            # Two stores with one identity are told apart by it.
            ("generation", os.urandom(16)),
            ("restored_at", b"%d" % self._call.now),
        ):
            self._db.run(_SQL.set_meta, {"key": key, "value": value})
        self._db.run(_SQL.delete_owner, {"owner_id": former})

    def has_owner(self) -> bool:
        """Whether the store's own owner came with the file."""
        return self._db.one(_SQL.has_own_owner) is not None

    def keys(self, here: Numbered) -> None:
        """Take over what operation IDs, chats and private text are hashed with."""
        secret = bytes.fromhex(here.line["receipt_secret"])
        if len(secret) != SECRET_BYTES:
            raise here.fault(f"the secret of receipts has {SECRET_BYTES} bytes")
        self._db.run(_SQL.set_meta, {"key": "receipt_secret", "value": secret})
        if self._chats and here.line["private_key"]:
            key = bytes.fromhex(here.line["private_key"])
            self._chats.run(_SQL.set_meta, {"key": "private_key", "value": key})

    def receipt(self, here: Numbered) -> None:
        """Write one receipt, or what is left of it."""
        line = here.line
        row = {name: line[name] for name in ("owner", "status", "receipt", "recorded_at")}
        row["op_key"] = bytes.fromhex(line["op_key"])
        request = line["request_key"]
        row["request_key"] = None if request is None else bytes.fromhex(request)
        if line["receipt"] is not None:
            _refuse_no_object(here, line["receipt"])
        self._db.run(_SQL.insert_receipt, row)
        for record_id in line["records"]:
            key = {"owner": line["owner"], "op_key": row["op_key"], "record_id": record_id}
            self._db.run(_SQL.insert_receipt_record, key)

    def forgotten(self, here: Numbered) -> None:
        """Write the mark of something that was forgotten."""
        line = here.line
        match line["kind"]:
            case "record":
                self._db.run(_SQL.insert_record_mark, line)
            case "chat":
                key = bytes.fromhex(line["name"])
                self._db.run(_SQL.insert_chat_mark, line | {"name": key})
            case _:
                raise here.fault("only a record or a chat is forgotten")

    def imported(self, here: Numbered) -> None:
        """Write what the source had taken in."""
        line = here.line
        row = {"import_id": line["id"], "chat_id": line["chat"]}
        row |= {name: line[name] for name in ("kind", "source", "records", "imported_at")}
        self._db.run(_SQL.insert_import, row | {"checksum": bytes.fromhex(line["checksum"])})
        for record_id in line["made"]:
            self._db.run(_SQL.move_imported, {"record_id": record_id, "import_id": line["id"]})


def _refuse_no_object(here: Numbered, text: str) -> None:
    import orjson

    try:
        is_object = isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        is_object = False
    if not is_object:
        raise here.fault("a receipt is no JSON object")
