"""Take in what another tool remembers: candidates that quote its files, and can be taken back.

The files stand in the index as a chat of kind `import`, of nobody's words: it establishes nothing.
"""

from typing import Any

from mash_plugin.chat_ids import chat_id
from mash_plugin.errors import (
    Forgotten,
    NotFound,
    RecordsDisabled,
)
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.drafts import tokens_of
from mash_plugin.memory.forget import after_removal
from mash_plugin.privacy.credentials import credential_kind, mask
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.evidence import kept_text
from mash_plugin.records.model import Body, Evidence, Revision, Scope, State
from mash_plugin.store.changes import insert_record
from mash_plugin.store.chats import SQL as CHATS
from mash_plugin.store.chats import delete_chats
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.forgotten import has_mark
from mash_plugin.store.operations import (
    Identity,
    add_receipt,
    find_receipt,
    identity_of,
    memory_key,
    operation_key,
)
from mash_plugin.store.queries import load
from mash_plugin.store.records import find_live, get_head
from mash_plugin.store.sqlite import Connection
from mash_plugin.transfer.chats_in import ChatsIn
from mash_plugin.transfer.items import Item
from mash_plugin.transfer.lines import Numbered
from mash_plugin.transfer.other_tools import LABELS, Wanted, read_wanted

STATES: dict[str, State] = {"decision": "proposed", "preference": "active", "fact": "current"}
_SQL = load("transfer")
Json = dict[str, Any]


def take_in(
    call: Call, source: str, path: str, scope: Scope | None, *, is_dry_run: bool = False
) -> Json:
    """Save what the files at the path hold as candidates, or only tell; what was, and was not.

    Raises InvalidArgument for a place of which no scope is known, or a file that cannot be read.
    """
    if not call.settings.records_enabled:
        raise RecordsDisabled
    wanted = read_wanted(call, source, path, scope)
    Denied(call).refuse_scope(wanted.scope)
    index = call.chats.database
    # The note of this import must not outlive the texts that its records rest on.
    with call.store.writing() as db, index.synced(), index.writing() as chats:
        identity = identity_of(db)
        saving = _Saving(call, db, identity, wanted)
        done = saving.earlier()
        if done is None:
            saving.run(chats, is_dry_run=is_dry_run)
    failpoint("import_after_commit")
    result: Json = {"source": source, "path": path, "scope": list(wanted.scope)}
    result |= {"records": saving.records, "left_out": dict(wanted.found.left_out)}
    result |= {"import_id": saving.import_id, "chat_id": saving.chat_id, "already": done}
    return result | {"dry_run": is_dry_run, "notice": None}


def take_back(call: Call, import_id: str) -> Json:
    """Remove the candidates of an import as if it had never been; what was changed since stays.

    Raises NotFound for an ID of no such import.
    """
    with call.store.writing(may_use_reserve=True) as db:
        row = db.one(_SQL.memory_import, {"import_id": import_id})
        if row is None:
            raise NotFound(f"No import of another tool's memory has the ID {import_id[:80]!r}.")
        ids = [value for (value,) in db.all(_SQL.imported_records, {"import_id": import_id})]
        heads = {record_id: get_head(db, record_id) for record_id in ids}
        kept = [i for i, h in heads.items() if h and (h.revision > 1 or h.review != "candidate")]
        for record_id in ids:
            if record_id not in kept:
                db.run(_SQL.delete_receipts_of, {"record_id": record_id})
                db.run(_SQL.drop_record, {"record_id": record_id})
        db.run(_SQL.delete_import, {"import_id": import_id})
    failpoint("undo_between_stores")
    if not kept:
        with call.chats.database.writing() as chats:
            found = chats.one(CHATS.chat_by_id, {"chat_id": row[0]})
            if found:
                delete_chats(chats, [found[-1]])
    after_removal(call)
    return {"import_id": import_id, "removed": len(ids) - len(kept), "kept": kept}


class _Saving:
    """Saves one import, inside both writes."""

    def __init__(self, call: Call, db: Connection, identity: Identity, wanted: Wanted) -> None:
        self._call, self._db, self._identity, self._wanted = call, db, identity, wanted
        self._key = memory_key(identity, "\0".join((wanted.source, *wanted.scope)), wanted.content)
        self._session = f"{wanted.source}-{self._key.hex()[:16]}"
        self.import_id = call.new_id()
        self.chat_id = chat_id("import", self._session)
        self.records: list[Json] = []

    def earlier(self) -> Json | None:
        """What is told of files that were taken in before; None for new ones."""
        key = {"kind": "memory", "source": self._wanted.source, "checksum": self._key}
        row = self._db.one(_SQL.find_import, key)
        if row is None:
            return None
        return {"import_id": row[0], "records": row[1], "imported_at": row[2]}

    def run(self, chats: Connection, *, is_dry_run: bool) -> None:
        """Save every item that may be, with its source."""
        if has_mark(self._db, self.chat_id):
            raise Forgotten(
                "You had the chat of this import forgotten. `mash index --restore-chat"
                f" {self.chat_id}` lets it in again."
            )
        items = [item for item in self._wanted.found.items if self._is_wanted(item)]
        if is_dry_run or not items:
            self.records = [_shown(item) for item in items]
            return
        self._write_chat(chats, items)
        self._note(len(items))
        for item in items:
            self._save(item)
        failpoint("import_before_commit")

    def _is_wanted(self, item: Item) -> bool:
        reason = self._why_not(item)
        if reason:
            self._wanted.found.left_out[reason] += 1
        return reason is None

    def _why_not(self, item: Item) -> str | None:
        for text in (item.statement, item.quote):
            if credential_kind(text, self._call.settings.extra_patterns):
                return "with a credential"
        receipt = find_receipt(self._db, self._identity, self._op_key(item))
        if receipt is not None:
            is_gone = receipt.receipt is None or receipt.is_hidden
            return "that you have forgotten" if is_gone else "that came with an earlier import"
        scope = self._wanted.scope
        for review in ("candidate", "established"):
            body = self._body(item)._replace(review=review)
            same = interpretation_hash(scope, body)
            if find_live(self._db, self._identity.owner, scope, same):
                return "that a record says already"
        return None

    def _write_chat(self, chats: Connection, items: list[Item]) -> None:
        scope, sources = self._wanted.scope, {item.source.name: item.source for item in items}
        writer = ChatsIn(chats, lambda _: False, is_persons=True, takes_hashes=False)
        line: Json = {"id": self.chat_id, "source": "import", "session": self._session}
        line |= {"parent_session": None, "title": self._wanted.title, "started_at": None}
        line |= {"project_path": scope.value if scope.kind == "local_project" else None}
        line |= {"repository": scope.value if scope.kind == "repository" else None}
        line |= {"last_active_at": None, "is_subagent": False, "indexed_at": self._call.now}
        writer.chat(Numbered(0, line))
        for source in sources.values():
            message: Json = {"id": self._message_id(source.name), "role": "system"}
            message |= {"author": "unknown", "text": mask(source.text), "person_text": None}
            message |= dict.fromkeys(("is_all_typed", "is_headless", "has_private"), False)
            message |= {"sent_at": None, "tool_use_ids": None, "private": []}
            writer.message(Numbered(0, message))
        writer.finish()

    def _note(self, count: int) -> None:
        row: Json = {"import_id": self.import_id, "kind": "memory", "records": count}
        row |= {"source": self._wanted.source, "checksum": self._key, "chat_id": self.chat_id}
        self._db.run(_SQL.insert_import, row | {"imported_at": self._call.now})

    def _save(self, item: Item) -> None:
        record_id, now, scope = self._call.new_id(), self._call.now, self._wanted.scope
        first = Revision(1, self._body(item), now, (self._evidence(item),))
        same = interpretation_hash(scope, first.body)
        owner = self._identity.owner
        insert_record(self._db, record_id, owner, scope, first, same, tokens_of(first))
        receipt = {"action": "create", "id": record_id, "revision": 1, "recorded_at": now}
        op_key = self._op_key(item)
        add_receipt(self._db, self._identity, op_key, op_key, receipt, [record_id])
        came = {"record_id": record_id, "import_id": self.import_id}
        self._db.run(_SQL.insert_imported, came)
        self.records.append(_shown(item) | {"id": record_id})

    def _body(self, item: Item) -> Body:
        label = LABELS[self._wanted.source]
        return Body(
            kind=item.kind,
            state=STATES[item.kind],
            statement=item.statement,
            recorded_by=f"import of {label}",
            reported_by=label if item.kind == "fact" else None,
        )

    def _evidence(self, item: Item) -> Evidence:
        return Evidence(
            self.chat_id,
            self._message_id(item.source.name),
            item.quote,
            "report" if item.kind == "fact" else "context",
            "system",
            "unknown",
            kept_text(item.quote, mask(item.source.text)),
            recorded_at=self._call.now,
        )

    def _message_id(self, name: str) -> str:
        return f"import-{memory_key(self._identity, self._session, name.encode()).hex()[:32]}"

    def _op_key(self, item: Item) -> bytes:
        words = ("import", self._wanted.source, *self._wanted.scope, item.quote)
        return operation_key(self._identity, "\0".join(words))


def _shown(item: Item) -> Json:
    return {"kind": item.kind, "statement": item.statement, "from": item.source.name}
