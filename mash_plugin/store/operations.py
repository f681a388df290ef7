"""Receipts: every change that was saved, found again by its operation ID (R-061 to R-065)."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.errors import StoreDamaged
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

_SQL = load("operations")


class Identity(NamedTuple):
    """Whose store this is, and the secret that its operation IDs are hashed with."""

    owner: str
    secret: bytes


class Receipt(NamedTuple):
    """What was answered to a request; `receipt` is None once its record was forgotten."""

    request_key: bytes | None
    receipt: dict[str, Any] | None
    is_hidden: bool
    """A record that it speaks of is out of sight, and removed soon."""


def identity_of(db: Connection) -> Identity:
    """The local owner; raises StoreDamaged where the store does not know it."""
    found = {str(key): bytes(value) for key, value in db.all(_SQL.get_meta)}
    if len(found) != 2:
        raise StoreDamaged("The store does not know its owner. Run `mash doctor`.")
    return Identity(found["owner_id"].decode(), found["receipt_secret"])


def operation_key(identity: Identity, operation_id: str) -> bytes:
    """The keyed hash that stands for an operation ID, which may hold words of the user."""
    return _keyed(identity, b"operation", operation_id.encode())


def request_key(identity: Identity, method: str, request: dict[str, Any]) -> bytes:
    """The keyed hash of the canonical request (R-062)."""
    canonical = json.dumps(
        [method, request], ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    return _keyed(identity, b"request", canonical.encode())


def chat_key(identity: Identity, chat_id: str) -> bytes:
    """The keyed hash that stands for a forgotten chat."""
    return _keyed(identity, b"chat", chat_id.encode("utf-8", "replace"))


def memory_key(identity: Identity, purpose: str, content: bytes) -> bytes:
    """The keyed hash by which what another tool remembers is known again."""
    return _keyed(identity, f"memory\0{purpose}".encode(), content)


def find_receipt(db: Connection, identity: Identity, op_key: bytes) -> Receipt | None:
    """The receipt of an operation, if it was saved."""
    row = db.one(_SQL.get_receipt, {"owner_id": identity.owner, "op_key": op_key})
    if row is None:
        return None
    return Receipt(row[1], json.loads(row[2]) if row[0] == "done" else None, bool(row[3]))


def add_receipt(
    db: Connection,
    identity: Identity,
    op_key: bytes,
    request: bytes,
    receipt: dict[str, Any],
    record_ids: Iterable[str],
) -> None:
    """Keep a receipt, in the transaction of its change; it never holds the operation ID.

    `record_ids`: the records whose removal takes what the request said with it.
    """
    key = {"owner_id": identity.owner, "op_key": op_key}
    db.run(
        _SQL.insert_receipt,
        {
            **key,
            "request_key": request,
            "receipt": compact_json(receipt),
            "recorded_at": receipt["recorded_at"],
        },
    )
    for record_id in dict.fromkeys(record_ids):
        db.run(_SQL.insert_receipt_record, {**key, "record_id": record_id})


def forget_receipts(db: Connection, record_id: str) -> None:
    """Leave of every receipt that speaks of a record only that there was one (R-065)."""
    key = {"record_id": record_id}
    db.run(_SQL.forget_receipts, key)
    db.run(_SQL.delete_receipt_records, key)


def _keyed(identity: Identity, purpose: bytes, content: bytes) -> bytes:
    import hmac  # hashlib loads OpenSSL, 2 ms before a hook's first answer

    message = b"\0".join((purpose, identity.owner.encode(), content))
    return hmac.new(identity.secret, message, "sha256").digest()
