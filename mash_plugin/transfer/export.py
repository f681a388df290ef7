"""Write the memory of a store, or of some scopes, as one file; one moment's state of both files."""

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.memory.call import Call
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.records.model import Evidence, Revision, Scope
from mash_plugin.store.chats import SQL as CHATS
from mash_plugin.store.queries import load
from mash_plugin.store.records import (
    Head,
    get_head,
    list_revisions,
    load_revision,
)
from mash_plugin.store.revision_rows import checksum_of, evidence_row, revision_row
from mash_plugin.store.sqlite import Connection, Row
from mash_plugin.transfer.files import new_file, warnings_about
from mash_plugin.transfer.lines import Writer, header_of
from mash_plugin.transfer.meter import Meter

SENSITIVE = (
    "The file holds the text of records, quotes and chats as they are: keep it where nobody else"
    " reads it."
)
MASKED = "What is known to be a credential is masked; everything else stands in it as it is."
_SQL = load("transfer")
Json = dict[str, Any]


class Wanted(NamedTuple):
    """What goes into an export."""

    scopes: tuple[Scope, ...] | None = None
    """None: everything."""
    is_masked: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the store can be built again from it, as it was."""
        return self.scopes is None and not self.is_masked

    @property
    def filters(self) -> dict[str, Any]:
        """The parameters by which statements find what is wanted."""
        scopes = None if self.scopes is None else compact_json([list(s) for s in self.scopes])
        return {"scopes": scopes, "hidden": self.is_complete}


def export_store(call: Call, path: str, wanted: Wanted, meter: Meter | None = None) -> Json:
    """Write the file and give it its name once it is whole; what it holds.

    Raises InvalidArgument for a name that is taken or a folder that is not safe, InvalidState
    when the meter breaks it off.
    """
    meter = meter or Meter()
    shown = masking(call.settings)._replace(is_on=True) if wanted.is_masked else Masking(False)
    with new_file(path) as file, call.store.reading() as db, call.chats.database.reading() as chats:
        meter.begin("Exporting", _size(db, chats, wanted), "lines")
        writer = Writer(file, meter)
        _write_header(db, writer, wanted, call.now)
        _write_chats(chats, writer, wanted, shown)
        damaged = _write_records(db, writer, wanted, shown)
        if wanted.is_complete:
            _write_private(db, chats, writer)
        checksum = writer.end()
    return {
        "path": path,
        "bytes": os.path.getsize(path),
        "checksum": checksum,
        "complete": wanted.is_complete,
        "masked": wanted.is_masked,
        "counts": dict(writer.counts),
        "damaged": damaged,
        "warnings": [MASKED if wanted.is_masked else SENSITIVE, *warnings_about(path)],
    }


def _size(db: Connection, chats: Connection, wanted: Wanted) -> int:
    """How many messages and revisions are wanted."""
    found = (
        chats.one(_SQL.message_count, wanted.filters),
        db.one(_SQL.revision_count, wanted.filters),
    )
    return sum(row[0] for row in found if row)


def _write_header(db: Connection, writer: Writer, wanted: Wanted, now: int) -> None:
    meta = {str(key): bytes(value) for key, value in db.all(_SQL.meta)}
    scopes = None if wanted.scopes is None else [list(scope) for scope in wanted.scopes]
    writer.write(
        "header",
        header_of(
            {
                "made_by": f"mash {version('mash-plugin')}",
                "made_at": now,
                "node": meta["node_id"].decode(),
                "generation": meta.get("generation", b"").hex(),
                "owner": meta["owner_id"].decode(),
                "complete": wanted.is_complete,
                "masked": wanted.is_masked,
                "scopes": scopes,
            }
        ),
    )
    for row in db.all(_SQL.owners):
        writer.write("owner", _named(row, "id label origin created_at"))


def _write_chats(db: Connection, writer: Writer, wanted: Wanted, shown: Masking) -> None:
    for row in _rows(db, _SQL.chats, wanted.filters):
        chat = _named(
            row[1:],
            "id source session parent_session title project_path repository started_at"
            " last_active_at is_subagent indexed_at",
        )
        chat["is_subagent"] = bool(chat["is_subagent"])
        writer.write("chat", shown.whole(chat) if shown.is_on else chat)
        for found in _rows(db, _SQL.messages, {"chat_no": row[0]}):
            message = _message(db, found, wanted)
            writer.write("message", shown.whole(message) if shown.is_on else message)


def _message(db: Connection, row: Row, wanted: Wanted) -> Json:
    message = _named(
        row[:10],
        "id role author text person_text is_all_typed is_headless has_private sent_at tool_use_ids",
    )
    for name in ("is_all_typed", "is_headless", "has_private"):
        message[name] = bool(message[name])
    has_hashes = message["has_private"] and wanted.is_complete
    hashes = db.all(_SQL.shingles, {"seq": row[10]}) if has_hashes else []
    return message | {"private": [value for (value,) in hashes]}


def _write_records(db: Connection, writer: Writer, wanted: Wanted, shown: Masking) -> list[str]:
    """Write records with their revisions, links and checkpoints; the IDs of damaged ones."""
    damaged = []
    for record_id, hidden_by in _rows(db, _SQL.records, wanted.filters):
        head = get_head(db, record_id)
        assert head is not None  # noqa: S101 - of the same moment
        numbers = list_revisions(db, record_id, None, head.revision)[::-1]
        if any(load_revision(db, head, number) is None for number in numbers):
            damaged.append(record_id)
            continue
        names = "id owner kind scope_kind scope_value hidden_at hidden_by"
        writer.write("record", _named((*head.place, head.hidden_at, hidden_by), names))
        for number in numbers:
            _write_revision(db, writer, head, number, shown)
    left_out = set(damaged)
    for row in _rows(db, _SQL.links, wanted.filters):
        if not left_out.intersection(row[:2]):
            names = "from to relation from_revision to_revision recorded_at session_id"
            writer.write("link", _named(row, names))
    for row in _rows(db, _SQL.checkpoints, wanted.filters):
        names = "owner chat scope_kind scope_value source_fingerprint record_count processed_at"
        writer.write("checkpoint", _named(row, names))
    return damaged


def _write_revision(
    db: Connection, writer: Writer, head: Head, number: int, shown: Masking
) -> None:
    revision = load_revision(db, head, number)
    assert revision is not None  # noqa: S101 - just looked at
    key = {"record_id": head.id, "revision": number}
    confirmations = [list(row) for row in db.all(_SQL.confirmations, key)]
    revision = masked(revision, shown)
    row = revision_row(revision)
    checksum = checksum_of(head.place, row, revision.evidence)
    body = revision.body
    lists = {
        name: list(getattr(body, name)) for name in ("alternatives", "consequences", "conditions")
    }
    writer.write(
        "revision",
        row
        | lists
        | {
            "evidence": [_evidence(e) for e in revision.evidence],
            "confirmations": confirmations,
            "checksum": checksum.hex(),
        },
    )


def masked(revision: Revision, shown: Masking) -> Revision:
    """The revision with every text as `--masked` shows it."""
    if not shown.is_on:
        return revision
    body = revision.body
    texts: Json = {
        name: tuple(shown(text) for text in getattr(body, name))
        for name in ("alternatives", "consequences", "conditions")
    }
    one: Json = {
        name: shown(value)
        for name in ("statement", "recorded_by", "reported_by")
        if (value := getattr(body, name)) is not None
    }
    evidence = tuple(
        e._replace(quote=shown(e.quote), message_text=shown(e.message_text))
        for e in revision.evidence
    )
    return revision._replace(body=body._replace(**texts, **one), evidence=evidence)


def _evidence(evidence: Evidence) -> Json:
    row = evidence_row(evidence)
    recorded_at = row.pop("recorded_at")
    last = {"status": evidence.status, "added_by": evidence.added_by, "recorded_at": recorded_at}
    return row | last


def _write_private(db: Connection, chats: Connection, writer: Writer) -> None:
    """Write what only the same store can use again: keys, receipts and marks."""
    meta = {str(key): bytes(value) for key, value in db.all(_SQL.meta)}
    private = chats.one(CHATS.meta_value, {"key": "private_key"})
    keys = {"receipt_secret": meta["receipt_secret"].hex()}
    writer.write("keys", keys | {"private_key": bytes(private[0]).hex() if private else None})
    for row in _rows(db, _SQL.receipts, {}):
        key = {"owner_id": row[0], "op_key": row[1]}
        receipt = _named(row, "owner op_key status request_key receipt recorded_at")
        records = [value for (value,) in db.all(_SQL.receipt_records, key)]
        writer.write("receipt", receipt | {"records": records})
    for row in _rows(db, _SQL.forgotten, {}):
        writer.write("forgotten", _named(row, "kind name at"))
    for row in _rows(db, _SQL.imports, {}):
        made = db.all(_SQL.imported_records, {"import_id": row[0]})
        known = _named(row, "id kind source checksum chat records imported_at")
        writer.write("imported", known | {"made": [value for (value,) in made]})


def _rows(db: Connection, sql: str, params: Mapping[str, Any]) -> Iterator[Row]:
    """Rows as they are asked for: a memory does not fit into this process's."""
    yield from db.each(sql, params)


def _named(row: Row, names: str) -> Json:
    values = (value.hex() if isinstance(value, bytes) else value for value in row)
    return dict(zip(names.split(), values, strict=True))
