"""Take the chats of an export into the index; a chat that is known here stays as it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mash_plugin.agents import AGENTS
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.fingerprints import next_fingerprint, variant_id
from mash_plugin.chats.stretch import SEARCHED_ROLES
from mash_plugin.privacy.spans import split_private
from mash_plugin.store.chats import (
    SQL,
    KnownMessage,
    MessageRow,
    add_messages,
    known_messages,
    last_seq,
)
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection
from mash_plugin.tokens import index_text
from mash_plugin.transfer.lines import Numbered

BATCH = 500
BATCH_CHARS = 8 << 20
SOURCES = (*AGENTS, "import")
ROLES = ("user", "assistant", "tool", "system")
AUTHORS = ("person", "inferred", "agent", "automated", "unknown")
OTHERS_WORDS = "unknown"
"""How words of a person count that are not the person here: they establish nothing."""
_SQL = load("transfer")
_PERSONS = ("person", "inferred")
Json = dict[str, Any]


@dataclass(slots=True)
class _Batch:
    next_seq: int
    known: dict[str, KnownMessage]
    names: set[str] = field(default_factory=set)
    """What this batch has placed already."""
    rows: list[MessageRow] = field(default_factory=list)
    tokens: list[tuple[int, str]] = field(default_factory=list)
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    hashes: list[tuple[int, int]] = field(default_factory=list)


class ChatsIn:
    """Writes chats with their messages, inside one write of the index."""

    def __init__(
        self,
        db: Connection,
        is_forgotten: Callable[[str], bool],
        is_off: Callable[[str, str], bool] = lambda _kind, _value: False,
        *,
        is_persons: bool,
        takes_hashes: bool,
    ) -> None:
        self._db = db
        self._is_forgotten = is_forgotten
        self._is_off = is_off
        self._is_persons = is_persons
        self._takes_hashes = takes_hashes
        self.new = self.known = self.forgotten = self.off = self.messages = 0
        self._chat_no: int | None = None
        self._has_chat = False
        self._ordinal = 0
        self._chain = ""
        self._waiting: list[Json] = []
        self._chars = 0

    def chat(self, here: Numbered) -> None:
        """Begin the next chat."""
        self.finish()
        line = here.line
        if line["source"] not in SOURCES or chat_id(line["source"], line["session"]) != line["id"]:
            raise here.fault(f"the chat {line['id'][:80]!r} has an ID or a source that none has")
        self._has_chat = True
        self._chat_no = None
        if self._is_forgotten(line["id"]) or (
            line["parent_session"]
            and self._is_forgotten(chat_id(line["source"], line["parent_session"]))
        ):
            self.forgotten += 1
        elif self._is_off("repository", line["repository"] or "") or self._is_off(
            "local_project", line["project_path"] or ""
        ):
            self.off += 1
        elif self._db.one(SQL.chat_by_id, {"chat_id": line["id"]}):
            self.known += 1
        else:
            self._db.run(_SQL.insert_chat, line | {"is_subagent": int(line["is_subagent"])})
            self._chat_no, self._ordinal, self._chain = self._db.raw.last_insert_rowid(), 0, ""
            self.new += 1

    def message(self, here: Numbered) -> None:
        """Add the next message of the chat."""
        line = here.line
        if not self._has_chat:
            raise here.fault("a message stands before any chat")
        if line["role"] not in ROLES or line["author"] not in AUTHORS:
            raise here.fault(f"no message has the role {line['role'][:20]!r} and that author")
        if self._chat_no is None:
            return
        self._waiting.append(line)
        self._chars += len(line["text"])
        if len(self._waiting) >= BATCH or self._chars >= BATCH_CHARS:
            self._flush()

    def finish(self) -> None:
        """Bring the chat to its end."""
        self._flush()
        if self._chat_no is not None:
            grown: Json = {"chat_no": self._chat_no, "generation": 0}
            grown |= {"message_count": self._ordinal, "fingerprint": self._chain}
            self._db.run(SQL.grow_chat, grown)
        self._chat_no, self._has_chat = None, False

    def _flush(self) -> None:
        if not self._waiting:
            return
        known = known_messages(self._db, [line["id"] for line in self._waiting])
        batch = _Batch(last_seq(self._db) + 1, known)
        for line in self._waiting:
            self._place(batch, line)
        add_messages(self._db, batch.rows, batch.tokens, batch.places, batch.hashes)
        self.messages += len(batch.places)
        self._waiting, self._chars = [], 0

    def _place(self, batch: "_Batch", line: Json) -> None:
        assert self._chat_no is not None  # noqa: S101 - nothing waits without a chat
        text = split_private(line["text"])[0]
        author = self._author(line["author"])
        name = self._name(batch, line, text)
        known = batch.known.get(name)
        seq = known.seq if known else batch.next_seq
        if name in batch.names or (known and self._is_placed(seq)):
            return
        if known is None:
            batch.next_seq += 1
            batch.rows.append(_row(seq, name, line, text, author))
            if text and line["role"] in SEARCHED_ROLES:
                batch.tokens.append((seq, index_text(text)))
            if self._takes_hashes:
                batch.hashes += [(value, seq) for value in line["private"]]
        batch.names.add(name)
        batch.places.append((self._chat_no, 0, self._ordinal, seq))
        self._ordinal += 1
        self._chain = next_fingerprint(self._chain, name, author, text.encode())

    def _name(self, batch: "_Batch", line: Json, text: str) -> str:
        """Its ID, or that of a variant where another chat holds other words under it."""
        name: str = line["id"]
        known = batch.known.get(name)
        if known is None or (known.text, known.role) == (text, line["role"]):
            return name
        variant = variant_id(name, text.encode())
        batch.known |= known_messages(self._db, [variant])
        return variant

    def _is_placed(self, seq: int) -> bool:
        key = {"seq": seq, "chat_no": self._chat_no, "generation": 0}
        return self._db.one(SQL.is_placed, key) is not None

    def _author(self, author: str) -> str:
        return author if self._is_persons or author not in _PERSONS else OTHERS_WORDS


def _row(seq: int, name: str, line: Json, text: str, author: str) -> MessageRow:
    typed = line["person_text"]
    return (
        seq,
        name,
        line["role"],
        author,
        text,
        None if typed is None else split_private(typed)[0],
        line["is_all_typed"],
        line["is_headless"],
        line["has_private"] or text != line["text"],
        line["sent_at"],
        line["tool_use_ids"],
    )
