"""Chats, messages and files of the chat index as rows (sql/chats.sql)."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

SQL = load("chats")


class FileRow(NamedTuple):
    """How far one transcript has been read, and what its reader must remember."""

    path: str
    agent: str
    session_id: str
    is_subagent: bool
    chat_no: int | None
    device: int
    inode: int
    size: int
    mtime_ns: int
    offset: int
    block_sums: bytes
    turn: int
    generation: int
    ordinal: int
    chain: str
    reader: str
    reader_version: int
    lines_skipped: int = 0
    bytes_skipped: int = 0

    def is_as(self, status: os.stat_result) -> bool:
        """Whether the file is as it was when it was read to its end."""
        seen = (status.st_size, status.st_mtime_ns, storable(status.st_ino))
        return (self.size, self.mtime_ns, self.inode) == seen


class ChatState(NamedTuple):
    """Where a chat stands: its live generation, its length and its fingerprint."""

    chat_no: int
    generation: int
    message_count: int
    fingerprint: str


class KnownMessage(NamedTuple):
    """A stored message, as far as a new reading compares it."""

    seq: int
    text: str
    role: str
    author: str


class ForgettableChat(NamedTuple):
    """A chat as far as a person must see it before it goes."""

    number: int
    id: str
    source: str
    session_id: str
    title: str | None
    message_count: int


class Held(NamedTuple):
    """The messages of some chats, and which of them stay with others."""

    messages: int
    shared: int
    also_held_by: tuple[str, ...]
    """Chats that hold the shared ones: forks, and sessions that were resumed elsewhere."""


MessageRow = tuple[int, str, str, str, str, str | None, bool, bool, bool, int | None, str | None]
"""The columns of a message in the order of `insert_message`."""


def storable(number: int) -> int:
    """A number of a file or a disk: SQLite holds 63 bits, some file systems use more."""
    return number & 0x7FFF_FFFF_FFFF_FFFF


def load_file(db: Connection, path: str) -> FileRow | None:
    """The row of a transcript, or None before its first reading."""
    row = db.one(SQL.file_by_path, {"path": path})
    if row is None:
        return None
    found = FileRow._make(row)
    return found._replace(is_subagent=bool(found.is_subagent))


def save_file(db: Connection, row: FileRow) -> None:
    """Remember how far a transcript has been read."""
    # No upsert: a statement that needs a savepoint makes FTS5 write its memory out.
    is_known = db.one(SQL.is_known_file, {"path": row.path}) is not None
    db.run(SQL.update_file if is_known else SQL.insert_file, row._asdict())


def chat_state(db: Connection, source: str, session_id: str) -> ChatState | None:
    """The chat of a session as it stands, or None."""
    row = db.one(SQL.chat_state, {"source": source, "session_id": session_id})
    return None if row is None else ChatState(*row)


def insert_chat(
    db: Connection, chat_id: str, source: str, session_id: str, is_subagent: bool, now: int
) -> int:
    """Make an empty chat; its row number."""
    db.run(
        SQL.insert_chat,
        {
            "chat_id": chat_id,
            "source": source,
            "session_id": session_id,
            "is_subagent": is_subagent,
            "now": now,
        },
    )
    return db.raw.last_insert_rowid()


def known_messages(db: Connection, ids: Iterable[str]) -> dict[str, KnownMessage]:
    """Those messages that are stored already, by ID."""
    rows = db.all(SQL.known_messages, {"ids": json_list(ids)})
    return {row[0]: KnownMessage(*row[1:]) for row in rows}


def is_placed(db: Connection, seq: int, chat_no: int, generation: int) -> bool:
    """Whether this reading of a chat holds a message already."""
    keys = {"seq": seq, "chat_no": chat_no, "generation": generation}
    return db.one(SQL.is_placed, keys) is not None


def is_held_elsewhere(db: Connection, seq: int, chat_no: int) -> bool:
    """Whether another chat holds a message too."""
    return db.one(SQL.is_held_elsewhere, {"seq": seq, "chat_no": chat_no}) is not None


def last_seq(db: Connection) -> int:
    """The highest row number of a message."""
    row = db.one(SQL.last_seq)
    return int(row[0]) if row else 0


def add_messages(
    db: Connection,
    rows: Sequence[MessageRow],
    tokens: Sequence[tuple[int, str]],
    places: Sequence[tuple[int, int, int, int]],
    shingles: Sequence[tuple[int, int]],
) -> None:
    """Store new messages with their words, and place messages in their chat."""
    db.raw.executemany(SQL.insert_message, rows)
    db.raw.executemany(SQL.index_tokens, tokens)
    db.raw.executemany(SQL.place_message, places)
    db.raw.executemany(SQL.insert_shingle, shingles)


def replace_message(db: Connection, row: MessageRow, tokens: str | None) -> None:
    """Give a stored message its new words."""
    drop_message_traces(db, row[0])
    db.raw.execute(SQL.replace_message, row)
    if tokens is not None:
        db.raw.execute(SQL.index_tokens, (row[0], tokens))


def drop_message_traces(db: Connection, seq: int) -> None:
    """Take a message out of the full-text index and forget its private hashes."""
    db.run(SQL.drop_tokens, {"seq": seq})
    db.run(SQL.drop_shingles, {"seq": seq})


def switch_generation(db: Connection, chat_no: int, generation: int, path: str) -> None:
    """Let the new reading of a chat replace the old one; drop what only the old one held."""
    for (seq,) in db.all(SQL.orphans_of, {"chat_no": chat_no, "generation": generation}):
        drop_message_traces(db, seq)
        db.run(SQL.delete_message, {"seq": seq})
    db.run(SQL.drop_old_places, {"chat_no": chat_no, "generation": generation})
    db.run(SQL.read_again, {"chat_no": chat_no, "generation": generation, "path": path})


def chats_to_forget(db: Connection, chat_id: str) -> list[ForgettableChat]:
    """A chat with the chats of the agents that it started; none when the index has it not."""
    return [ForgettableChat(*row) for row in db.all(SQL.chats_to_forget, {"chat_id": chat_id})]


def chats_of_project(
    db: Connection, path: str | None, identity: str | None
) -> list[ForgettableChat]:
    """The chats of a folder and all below it, or of a repository, and those of their agents."""
    named = {"path": path, "identity": identity}
    return [ForgettableChat(*row) for row in db.all(SQL.chats_of_project, named)]


def held_by(db: Connection, chat_numbers: Sequence[int]) -> Held:
    """What these chats hold."""
    chats = {"chats": json_list(chat_numbers)}
    messages, shared = db.one(SQL.count_held, chats) or (0, 0)
    others = db.all(SQL.also_held_by, chats) if shared else []
    return Held(int(messages), int(shared), tuple(row[0] for row in others))


def delete_chats(db: Connection, chat_numbers: Sequence[int]) -> int:
    """Remove chats with the messages that only they hold; how many of these there were."""
    chats = {"chats": json_list(chat_numbers)}
    seqs = [row[0] for row in db.all(SQL.held_only_by, chats)]
    for (path,) in db.all(SQL.files_of_chats, chats):
        db.run(SQL.delete_file, {"path": path})
    db.run(SQL.delete_places, chats)
    for seq in seqs:
        drop_message_traces(db, seq)
        db.run(SQL.delete_message, {"seq": seq})
    db.run(SQL.delete_chats, chats)
    db.run(SQL.set_unclean)
    return len(seqs)


def merge_words(db: Connection, pages: int, *, is_first: bool) -> bool:
    """One step of merging the full-text index into one segment; False when it is done."""
    before = db.raw.total_changes()
    db.run(SQL.begin_merge if is_first else SQL.go_on_merging, {"pages": pages})
    return db.raw.total_changes() - before >= 2


def json_rows(values: Iterable[Sequence[str | int]]) -> str:
    """Rows as one bound parameter for json_each."""
    return compact_json([list(row) for row in values])


def json_list(values: Iterable[str | int]) -> str:
    """A list as one bound parameter for json_each."""
    return compact_json(list(values))


def quoted(words: str) -> str:
    """The words as one phrase of the full-text syntax, whatever stands in them."""
    return '"' + words.replace('"', "").replace("\0", "") + '"'
