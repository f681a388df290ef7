"""Store one stretch of one transcript, from where the last one ended, in one transaction."""

import os
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from mash_plugin.agents.events import Message, ReaderState, TranscriptFile
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.blocks import blocks_to_compare, blocks_unchanged
from mash_plugin.chats.intake import Place, take_in
from mash_plugin.chats.project import Project, normalise_remote, project_of
from mash_plugin.chats.stretch import From, Stretch, reader_state
from mash_plugin.chats.switches import is_denied, switched_off
from mash_plugin.privacy.credentials import cut_title
from mash_plugin.store.chats import (
    SQL,
    ChatState,
    FileRow,
    chat_state,
    insert_chat,
    load_file,
    save_file,
    switch_generation,
)
from mash_plugin.store.sqlite import Connection

READER_VERSION = 1
"""Raise it when the readers judge lines differently: every transcript is then read again."""
TITLE_CHARS = 120


class Surroundings(NamedTuple):
    """What a stretch needs beside its file."""

    private_key: bytes
    deny: Sequence[str]
    now: int
    is_forgotten: Callable[[str, str], bool] = lambda _source, _session: False
    keep_since: int = 0
    """Transcripts that were last written before are not read: their chats are not kept."""

    def is_too_old(self, status: os.stat_result) -> bool:
        """Whether the chat of a transcript is not kept any more."""
        return status.st_mtime_ns < self.keep_since * 1_000_000


class Settled(NamedTuple):
    """What one stretch took in."""

    chat_id: str | None
    new_messages: int = 0
    bytes_read: int = 0
    bytes_skipped: int = 0
    lines_skipped: int = 0
    is_finished: bool = True
    is_refused: bool = False
    is_outdated: bool = False
    """Nothing was stored: the transcript has been read on from elsewhere."""
    rebuilt: str | None = None
    """The chat that a rewritten transcript has replaced, at the last stretch."""


class Beginning(NamedTuple):
    """A transcript that has something new: from where, and which row that belongs to."""

    file: TranscriptFile
    row: FileRow
    status: os.stat_result
    stored: FileRow | None
    """The row as it was found: when it has changed, someone else has read on."""

    @property
    def at(self) -> From:
        """Where to read on."""
        return From(self.row.offset, self.row.reader, self.row.block_sums)


def begin(
    db: Connection, file: TranscriptFile, handle: BinaryIO, around: Surroundings
) -> Beginning | None:
    """Find out what is new in a transcript; None when nothing is, or none may be read."""
    status = os.fstat(handle.fileno())
    if around.is_too_old(status):
        return None
    chat = chat_state(db, file.agent, file.session_id)
    row = stored = load_file(db, file.path)
    if row is None:
        row = _first_row(db, file, status, chat)
    elif is_settled(row, status):
        return None
    elif row.reader_version != READER_VERSION or _is_rewritten(row, status, handle):
        row = _start_over(row, chat)
    if _is_off(reader_state(row.reader), around):
        return None
    return Beginning(file, row, status, stored)


def begin_next(db: Connection, beginning: Beginning) -> Beginning:
    """The beginning of the stretch after one that was just stored."""
    row = load_file(db, beginning.file.path) or beginning.row
    return beginning._replace(row=row, stored=row)


def settle(db: Connection, beginning: Beginning, stretch: Stretch, around: Surroundings) -> Settled:
    """Store what a stretch held, unless someone else has read on meanwhile."""
    file, row, status = beginning.file, beginning.row, beginning.status
    state = reader_state(stretch.reader)
    chat = chat_state(db, file.agent, file.session_id)
    name = chat_id(file.agent, file.session_id) if chat else None
    is_outdated = chat is not None and row.generation < chat.generation
    if is_outdated or load_file(db, file.path) != beginning.stored:
        return Settled(name, is_finished=False, is_outdated=True)
    if _is_off(state, around):
        return Settled(name)
    # In this transaction: it may have been forgotten since it was read, with its agents to come.
    if around.is_forgotten(file.agent, file.session_id) or (
        state.parent_session and around.is_forgotten(file.agent, state.parent_session)
    ):
        return Settled(None)
    is_finished = stretch.is_finished or stretch.end >= status.st_size
    row = row._replace(
        device=_signed(status.st_dev),
        inode=_signed(status.st_ino),
        size=status.st_size if is_finished else -1,
        mtime_ns=status.st_mtime_ns,
        block_sums=stretch.block_sums,
        offset=stretch.end,
        turn=row.turn + 1,
        reader=stretch.reader,
        lines_skipped=row.lines_skipped + stretch.lines_skipped,
        bytes_skipped=row.bytes_skipped + stretch.bytes_skipped,
    )
    settled = Settled(
        name,
        bytes_read=stretch.end - stretch.start,
        bytes_skipped=stretch.bytes_skipped,
        lines_skipped=stretch.lines_skipped,
        is_finished=is_finished,
    )
    return _place(db, file, row, chat, state, stretch, around, settled)


def is_settled(row: FileRow, status: os.stat_result) -> bool:
    """Whether a file is as it was when these readers read it to its end."""
    return row.is_as(status) and row.reader_version == READER_VERSION


def _place(
    db: Connection,
    file: TranscriptFile,
    row: FileRow,
    chat: ChatState | None,
    state: ReaderState,
    stretch: Stretch,
    around: Surroundings,
    settled: Settled,
) -> Settled:
    messages = stretch.messages
    if chat is None:
        if not messages:
            save_file(db, row)
            return settled
        name = chat_id(file.agent, file.session_id)
        number = insert_chat(db, name, file.agent, file.session_id, file.is_subagent, around.now)
        chat = ChatState(number, row.generation, 0, "")
        settled = settled._replace(chat_id=name)
    is_live = row.generation == chat.generation
    place = Place(
        chat.chat_no,
        row.generation,
        chat.message_count if is_live else row.ordinal,
        chat.fingerprint if is_live else row.chain,
    )
    new = take_in(db, stretch, place, around.private_key)
    if messages or not is_live:
        _describe(db, chat.chat_no, state, messages, around.now)
    rebuilt = None
    if not is_live and settled.is_finished:
        _replace(db, chat.chat_no, row)
        rebuilt = settled.chat_id
    if is_live or rebuilt:
        _grow(db, place)
    save_file(db, row._replace(chat_no=chat.chat_no, ordinal=place.ordinal, chain=place.chain))
    return settled._replace(new_messages=new, rebuilt=rebuilt)


def _grow(db: Connection, place: Place) -> None:
    """Let the chat hold all messages up to this place."""
    grown = {"chat_no": place.chat_no, "generation": place.generation}
    db.run(SQL.grow_chat, {**grown, "message_count": place.ordinal, "fingerprint": place.chain})


def _replace(db: Connection, chat_no: int, row: FileRow) -> None:
    """Let a transcript that was read anew take the place of what the chat was before."""
    switch_generation(db, chat_no, row.generation, row.path)
    for (path,) in db.all(SQL.paths_of_chat, {"chat_no": chat_no}):
        if path != row.path and not os.path.exists(path):
            db.run(SQL.delete_file, {"path": path})


def _first_row(
    db: Connection, file: TranscriptFile, status: os.stat_result, chat: ChatState | None
) -> FileRow:
    """A transcript seen for the first time; it may be a known chat in a new place."""
    generation = 0
    if chat is not None:
        paths = [path for (path,) in db.all(SQL.paths_of_chat, {"chat_no": chat.chat_no})]
        # Beside a file that still exists this one only adds; alone, it is the chat anew.
        generation = chat.generation + (not any(os.path.exists(path) for path in paths))
    return FileRow(
        path=file.path,
        agent=file.agent,
        session_id=file.session_id,
        is_subagent=file.is_subagent,
        chat_no=chat.chat_no if chat else None,
        device=_signed(status.st_dev),
        inode=_signed(status.st_ino),
        size=-1,
        mtime_ns=0,
        offset=0,
        block_sums=b"",
        turn=0,
        generation=generation,
        ordinal=0,
        chain="",
        reader="{}",
        reader_version=READER_VERSION,
    )


def _start_over(row: FileRow, chat: ChatState | None) -> FileRow:
    generation = max(row.generation, chat.generation) + 1 if chat else row.generation
    return row._replace(
        size=-1,
        offset=0,
        block_sums=b"",
        generation=generation,
        ordinal=0,
        chain="",
        reader="{}",
        reader_version=READER_VERSION,
        lines_skipped=0,
        bytes_skipped=0,
    )


def _is_rewritten(row: FileRow, status: os.stat_result, handle: BinaryIO) -> bool:
    """Whether what was taken in no longer stands in the file.

    A file that only grew is compared in part when it is long: the comparison must not cost
    more than the new lines do. One that was touched or moved is compared whole.
    """
    if status.st_size < row.offset:
        return True
    is_same_file = (row.device, row.inode) == (_signed(status.st_dev), _signed(status.st_ino))
    grew_only = is_same_file and (row.size < 0 or status.st_size > row.size)
    numbers = blocks_to_compare(row.block_sums, row.turn, whole=not grew_only)
    return not blocks_unchanged(handle.fileno(), row.block_sums, row.offset, numbers)


def _describe(
    db: Connection, chat_no: int, state: ReaderState, messages: list[Message], now: int
) -> None:
    times = [m.sent_at for m in messages if m.sent_at is not None]
    project = _project(state)
    identity = project.identity if project else None
    if identity is None and state.remote_url:
        identity = normalise_remote(state.remote_url)
    db.run(
        SQL.describe_chat,
        {
            "chat_no": chat_no,
            "title": state.title,
            "first_words": _first_words(messages),
            "parent_session": state.parent_session,
            "project_path": _path(project) if project else None,
            "repository_identity": identity,
            "started_at": min(times, default=None),
            "last_active_at": max(times, default=None),
            "now": now,
        },
    )


def _path(project: Project) -> str:
    """Where a chat took place; without an identity all work trees count as one."""
    return project.root if project.identity else project.place


def _first_words(messages: list[Message]) -> str | None:
    typed = (m.person_text or "" for m in messages)
    words = next((" ".join(t.split()) for t in typed if t.strip()), None)
    return cut_title(words, TITLE_CHARS) if words else None


def _is_off(state: ReaderState, around: Surroundings) -> bool:
    project = _project(state)
    return is_denied(project, around.deny) or "index" in switched_off(project)


def _project(state: ReaderState) -> Project | None:
    return project_of(state.project_path) if state.project_path else None


def _signed(number: int) -> int:
    """SQLite holds 63 bits; some file systems number their files beyond."""
    return number & 0x7FFF_FFFF_FFFF_FFFF
