"""One operation ID with its request: recognised when it comes again (R-061 to R-065)."""

from collections.abc import Callable, Iterable
from typing import Any

from mash_plugin.errors import Forgotten, OperationConflict
from mash_plugin.store.operations import (
    Identity,
    add_receipt,
    find_receipt,
    operation_key,
    request_key,
)
from mash_plugin.store.sqlite import Connection, Database

Json = dict[str, Any]
Change = Callable[[Connection], tuple[Json, Iterable[str]]]
"""Makes a change and tells its receipt, and the records that hold what the request said."""
ASKED_BY = "asked_by"
"""What of a receipt only `mash log` tells: the session and the agent."""


class Operation:
    """What the receipts know of one request."""

    def __init__(self, identity: Identity, method: str, request: Json) -> None:
        self.identity = identity
        self.operation_id: str = request["operation_id"]
        self.op_key = operation_key(identity, self.operation_id)
        self.request_key = request_key(identity, method, request)

    @property
    def owner(self) -> str:
        """Whose records it may change."""
        return self.identity.owner

    def replay(self, db: Connection) -> Json | None:
        """The first receipt, for a retry; raises OperationConflict or Forgotten."""
        found = find_receipt(db, self.identity, self.op_key)
        if found is None:
            return None
        if found.receipt is None or found.is_hidden:
            raise Forgotten("What that operation saved was removed; its text is gone.")
        if found.request_key != self.request_key:
            raise OperationConflict
        return self._answer(found.receipt, replayed=True)

    def once(self, database: Database, change: Change, *, may_use_reserve: bool = False) -> Json:
        """Make the change and keep its receipt in one transaction, or answer with the first one.

        The receipt goes with the records that the change names. Raises what `replay` and the
        change raise; nothing was saved then.
        """
        with database.writing(may_use_reserve=may_use_reserve) as db:
            if replay := self.replay(db):
                return replay
            receipt, record_ids = change(db)
            add_receipt(db, self.identity, self.op_key, self.request_key, receipt, record_ids)
            return self._answer(receipt, replayed=False)

    def _answer(self, receipt: Json, replayed: bool) -> Json:
        told = {name: value for name, value in receipt.items() if name != ASKED_BY}
        return {"operation_id": self.operation_id, **told, "replayed": replayed}
