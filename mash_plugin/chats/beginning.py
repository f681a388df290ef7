"""Where to read on in a transcript: what is new, what was rewritten, what may be read at all."""

import os
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from mash_plugin.agents.events import ReaderState, TranscriptFile
from mash_plugin.chats.blocks import blocks_to_compare, blocks_unchanged
from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.stretch import From, reader_state
from mash_plugin.chats.switches import is_denied, switched_off
from mash_plugin.store.chats import SQL, ChatState, FileRow, chat_state, load_file, storable
from mash_plugin.store.sqlite import Connection

READER_VERSION = 1
"""Raise it when the readers judge lines differently: every transcript is then read again."""


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
    if is_left_out(reader_state(row.reader), around):
        return None
    return Beginning(file, row, status, stored)


def begin_next(db: Connection, beginning: Beginning) -> Beginning:
    """The beginning of the stretch after one that was just stored."""
    row = load_file(db, beginning.file.path) or beginning.row
    return beginning._replace(row=row, stored=row)


def is_settled(row: FileRow, status: os.stat_result) -> bool:
    """Whether a file is as it was when these readers read it to its end."""
    return row.is_as(status) and row.reader_version == READER_VERSION


def is_left_out(state: ReaderState, around: Surroundings) -> bool:
    """Whether the person lets no chat of this project be read."""
    project = project_of_reader(state)
    return is_denied(project, around.deny) or "index" in switched_off(project)


def project_of_reader(state: ReaderState) -> Project | None:
    """The project that a transcript names, as far as it has been read."""
    return project_of(state.project_path) if state.project_path else None


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
        device=storable(status.st_dev),
        inode=storable(status.st_ino),
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
    is_same_file = (row.device, row.inode) == (storable(status.st_dev), storable(status.st_ino))
    grew_only = is_same_file and (row.size < 0 or status.st_size > row.size)
    numbers = blocks_to_compare(row.block_sums, row.turn, whole=not grew_only)
    return not blocks_unchanged(handle.fileno(), row.block_sums, row.offset, numbers)
