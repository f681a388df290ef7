"""Two stores side by side: one that is exported, and one that takes the file in."""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest

from mash_plugin.chats.forget import forgotten_test
from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import Settings
from mash_plugin.memory.call import Call
from mash_plugin.memory.extraction import extract_records, get_extraction_checkpoint
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import find_paths
from mash_plugin.protocol import validate
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.transfer.export import Wanted, export_store
from mash_plugin.transfer.importing import import_file
from mash_plugin.transfer.names import Mode
from tests.conftest import NOW, QUESTION, Clock, Memory, Shop

Json = dict[str, Any]
TABLES = {
    "owners": "owner_id",
    "records": "record_id",
    "revisions": "record_id, revision",
    "evidence": "record_id, revision, evidence_id",
    "confirmations": "record_id, revision, message_id",
    "links": "link_id",
    "receipts": "owner_id, op_key",
    "receipt_records": "record_id, owner_id, op_key",
    "record_tombstones": "record_id",
    "chat_tombstones": "chat_key",
    "checkpoints": "owner_id, chat_id",
}
HERE_ALONE = {"evidence": ("evidence_id", "checked_at"), "links": ("link_id",)}
"""Row numbers, and when this store last looked."""


@contextmanager
def a_memory(root: Path, prefix: str = "i") -> Iterator[Memory]:
    """Open stores of a home of their own, without any transcript."""
    home = find_paths({"MASH_HOME": str(root / "mash")})
    (root / "claude").mkdir(parents=True, exist_ok=True)
    (root / "codex").mkdir(exist_ok=True)
    with closing(open_store(home, NOW)) as store, closing(open_chats(home)) as chats:
        index = ChatIndex(
            chats,
            lambda: [("claude-code", str(root / "claude")), ("codex", str(root / "codex"))],
            is_forgotten=forgotten_test(store),
        )
        ids = count(1)
        call = Call(store, index, Settings(), NOW, lambda: f"{prefix}{next(ids):031}", Windows())
        made = Memory(call, Clock(), root / "claude", root / "codex", root / "projects")
        made.on_wait(lambda _seconds: None)
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Memory]:
    """An empty store of somebody else, or on another machine."""
    with a_memory(tmp_path / "other") as made:
        yield made


@pytest.fixture
def told(memory: Memory, shop: Shop) -> Json:
    """A store with a bit of everything; the receipts by name."""
    memory.index()
    made: Json = {"choice": memory.established("Use Qdrant for local search.")}
    made["wish"] = memory.candidate("Perhaps use Milvus.")
    made["old"] = memory.candidate("Keep the parser whole.")
    made["new"] = memory.change(
        "supersede",
        made["old"],
        body={"statement": "Split it.", "details": {"kind": "decision", "state": "proposed"}},
        evidence=[{"session_id": "s-1", "quote": QUESTION}],
    )
    made["gone"] = memory.candidate("Forget this one.")
    memory.change("forget", made["gone"])
    again = shop.transcript.person("Yes, Qdrant it stays.")
    memory.index()
    evidence = [{"message_id": again, "quote": "Yes, Qdrant it stays.", "purpose": "endorsement"}]
    memory.change("confirm", made["choice"], evidence=evidence)
    second = memory.established("Keep Qdrant.")
    memory.change(
        "link",
        made["choice"],
        target={"id": second["id"], "revision": 1},
        relation="supports",
    )
    made["second"] = second
    _review(memory, "claude-code-s-1")
    return made


def _review(memory: Memory, chat: str) -> None:
    """Leave a checkpoint: that version of the chat was read, and nothing was found."""
    at = {"chat_id": chat, "scope": {"kind": "chat", "id": chat}}
    now = memory.call_now()
    wanted = validate("get_extraction_checkpoint", at)
    fingerprint = get_extraction_checkpoint(now, wanted)["source_fingerprint"]
    request = {"operation_id": "review", **at, "source_fingerprint": fingerprint, "records": []}
    extract_records(now, validate("extract_records", request))


def export(memory: Memory, path: Path, **wanted: Any) -> Json:
    return export_store(memory.call_now(), str(path), Wanted(**wanted))


def take_in(memory: Memory, path: Path, mode: Mode = "export", **options: Any) -> Json:
    return import_file(memory.call_now(), str(path), mode, **options)


def rows_of(memory: Memory) -> dict[str, list[Json]]:
    """Everything that the store remembers, without what belongs to this file alone."""
    found = {}
    with memory.call.store.reading() as db:
        for table, order in TABLES.items():
            names = [row[1] for row in db.all(f"PRAGMA table_info({table})")]
            rows = db.all(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608 - ours
            left_out = HERE_ALONE.get(table, ())
            found[table] = [
                {n: v for n, v in zip(names, row, strict=True) if n not in left_out} for row in rows
            ]
        found["meta"] = db.all(
            "SELECT key, value FROM meta WHERE key IN ('node_id', 'owner_id', 'receipt_secret')"
            " ORDER BY key"
        )
    return found


def chats_of(memory: Memory) -> list[Any]:
    """Every chat with its messages, its fingerprint and the hashes of private text."""
    with memory.call.chats.database.reading() as db:
        chats = db.all(
            "SELECT chat_no, chat_id, source, session_id, parent_session, title, project_path,"
            " repository_identity, started_at, last_active_at, is_subagent, message_count,"
            " fingerprint, indexed_at FROM chats ORDER BY chat_id"
        )
        return [
            (
                chat[1:],
                db.all(
                    "SELECT p.ordinal, m.message_id, m.role, m.author, m.text, m.person_text,"
                    " m.is_all_typed, m.is_headless, m.has_private, m.sent_at, m.tool_use_ids,"
                    " (SELECT group_concat(hash) FROM (SELECT hash FROM private_shingles s"
                    "  WHERE s.seq = m.seq ORDER BY hash))"
                    " FROM chat_messages p JOIN chats c USING (chat_no, generation)"
                    " JOIN messages m USING (seq) WHERE c.chat_no = :no ORDER BY p.ordinal",
                    {"no": chat[0]},
                ),
            )
            for chat in chats
        ]


def lines_of(path: Path) -> list[Json]:
    return [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write_lines(path: Path, lines: list[Json | bytes], *, is_summed: bool = True) -> Path:
    """A file of these lines, its last one made right unless it should not be."""
    data = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
    if is_summed:
        kinds = [str(orjson.loads(line)["is"]) for line in data[:-1]]
        counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
        before = b"".join(line + b"\n" for line in data[:-1])
        end = {"is": "end", "lines": len(kinds), "counts": counts}
        data[-1] = orjson.dumps(end | {"sha256": hashlib.sha256(before).hexdigest()})
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in data)))
    return path


def edited(source: Path, target: Path, edit: Callable[[list[Json]], None]) -> Path:
    """A copy of an export with its lines changed and its sums right."""
    lines = lines_of(source)
    edit(lines)
    return write_lines(target, list(lines))
