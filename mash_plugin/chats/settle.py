"""Store one stretch of one transcript, from where the last one ended, in one transaction."""

import os
from typing import NamedTuple

from mash_plugin.agents.events import Message, ReaderState, TranscriptFile
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.beginning import (
    Beginning,
    Surroundings,
    is_left_out,
    project_of_reader,
)
from mash_plugin.chats.intake import Place, take_in
from mash_plugin.chats.project import Project
from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.chats.stretch import Stretch, reader_state
from mash_plugin.privacy.credentials import cut_title
from mash_plugin.store.chats import (
    SQL,
    ChatState,
    FileRow,
    chat_state,
    insert_chat,
    load_file,
    save_file,
    storable,
    switch_generation,
)
from mash_plugin.store.sqlite import Connection

TITLE_CHARS = 120


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


def settle(db: Connection, beginning: Beginning, stretch: Stretch, around: Surroundings) -> Settled:
    """Store what a stretch held, unless someone else has read on meanwhile."""
    file, row, status = beginning.file, beginning.row, beginning.status
    state = reader_state(stretch.reader)
    chat = chat_state(db, file.agent, file.session_id)
    name = chat_id(file.agent, file.session_id) if chat else None
    is_outdated = chat is not None and row.generation < chat.generation
    if is_outdated or load_file(db, file.path) != beginning.stored:
        return Settled(name, is_finished=False, is_outdated=True)
    if is_left_out(state, around):
        return Settled(name)
    # In this transaction: it may have been forgotten since it was read, with its agents to come.
    if around.is_forgotten(file.agent, file.session_id) or (
        state.parent_session and around.is_forgotten(file.agent, state.parent_session)
    ):
        return Settled(None)
    is_finished = stretch.is_finished or stretch.end >= status.st_size
    row = row._replace(
        device=storable(status.st_dev),
        inode=storable(status.st_ino),
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


def _describe(
    db: Connection, chat_no: int, state: ReaderState, messages: list[Message], now: int
) -> None:
    times = [m.sent_at for m in messages if m.sent_at is not None]
    project = project_of_reader(state)
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
