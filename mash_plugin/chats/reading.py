"""Read chats and messages back."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mash_plugin.chats.project import Project, project_at
from mash_plugin.records.model import Author, MessageRole
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection, Row

SQL = load("chats")


class Chat(NamedTuple):
    """One session of an agent, as indexed."""

    id: str
    source: str
    session_id: str
    title: str | None
    project_path: str | None
    repository_identity: str | None
    started_at: int | None
    last_active_at: int | None
    fingerprint: str
    is_subagent: bool
    message_count: int = 0
    number: int = 0

    @property
    def project(self) -> Project:
        """Where it took place, as far as the index knows."""
        return project_at(self.project_path or "", self.repository_identity)


class StoredMessage(NamedTuple):
    """One message in its place in a chat."""

    id: str
    chat_id: str
    ordinal: int
    role: MessageRole
    author: Author
    text: str
    person_text: str | None
    is_headless: bool
    sent_at: int | None
    has_private: bool
    tool_use_ids: tuple[str, ...]
    seq: int = 0


def chat_of(db: Connection, chat_id: str) -> Chat | None:
    """A chat by its ID."""
    row = db.one(SQL.chat_by_id, {"chat_id": chat_id})
    return None if row is None else as_chat(row)


def transcripts_of(db: Connection, chat_id: str) -> list[str]:
    """The files that a chat was read from, whether or not they are still there."""
    return [path for (path,) in db.all(SQL.transcripts_of, {"chat_id": chat_id})]


def chat_by_session(db: Connection, session_id: str) -> Chat | None:
    """The chat of a session."""
    row = db.one(SQL.chats_by_session, {"session_id": session_id})
    return None if row is None else as_chat(row)


def places_of(db: Connection, identity: str) -> Iterator[str]:
    """The folder of each chat of a repository, the newest first, fetched as they are asked for."""
    for (path,) in db.each(SQL.places_of, {"identity": identity}):
        yield path


def chats_active_since(db: Connection, since: int) -> list[Chat]:
    """Chats in which something was said since, without those of subagents, the newest first."""
    return [as_chat(row) for row in db.all(SQL.chats_active_since, {"since": since})]


def chats_of_message(db: Connection, message_id: str) -> list[Chat]:
    """Every chat that holds a message, the oldest first."""
    return [as_chat(r) for r in db.all(SQL.chats_of_message, {"message_id": message_id})]


def messages_newest_first(db: Connection, chat_id: str) -> Iterator[StoredMessage]:
    """The messages of a chat from the last one back, fetched as they are asked for."""
    for row in db.each(SQL.messages_newest_first, {"chat_id": chat_id}):
        yield as_message(row)


def prompts_newest_first(
    db: Connection, chat_id: str, limit: int, look_back: int
) -> list[StoredMessage]:
    """The newest prompts of a chat, among so many of its last messages."""
    asked = {"chat_id": chat_id, "limit": limit, "look_back": look_back}
    return [as_message(row) for row in db.all(SQL.prompts_newest_first, asked)]


def messages_from(db: Connection, chat_id: str, ordinal: int = 0) -> Iterator[StoredMessage]:
    """The messages of a chat in order, beginning with one of them."""
    for row in db.each(SQL.messages_from, {"chat_id": chat_id, "ordinal": ordinal}):
        yield as_message(row)


def message_by_id(
    db: Connection, message_id: str, chat_id: str | None = None
) -> StoredMessage | None:
    """A message, in that chat or else in the chat that had it first."""
    row = db.one(SQL.message_by_id, {"message_id": message_id, "chat_id": chat_id})
    return None if row is None else as_message(row)


def message_before(
    db: Connection, chat_id: str, message_id: str, role: str
) -> StoredMessage | None:
    """The message of that role directly before another; None when someone else spoke between.

    Tool output and lines that only carry tool calls are passed over.
    """
    here = message_by_id(db, message_id, chat_id)
    if here is None:
        return None
    rows = db.each(SQL.messages_before, {"chat_id": chat_id, "ordinal": here.ordinal})
    for row in rows:
        message = as_message(row)
        if message.role == "tool" or not message.text.strip():
            continue
        return message if message.role == role else None
    return None


def recent_chats(
    db: Connection, project: Project, limit: int, exclude_session: str | None, now: int
) -> list[Chat]:
    """The newest chats of a project, without those of subagents."""
    common = {"limit": limit, "exclude_session": exclude_session, "now": now}
    if project.identity is not None:
        rows = db.all(SQL.recent_by_repository, {**common, "identity": project.identity})
    else:
        rows = db.all(SQL.recent_by_path, {**common, "root": project.place})
    return [as_chat(row) for row in rows]


def list_chats(
    db: Connection,
    limit: int,
    offset: int = 0,
    *,
    repository: str | None = None,
    project_path: str | None = None,
) -> tuple[list[Chat], bool]:
    """A page of chats, newest first, and whether another follows."""
    rows = db.all(
        SQL.list_chats,
        {
            "repository": repository,
            "project_path": project_path,
            "limit": limit + 1,
            "offset": offset,
        },
    )
    return [as_chat(row) for row in rows[:limit]], len(rows) > limit


def as_chat(row: Row) -> Chat:
    """A chat from the columns that every statement of chats gives."""
    values: list[Any] = list(row)
    values[9] = bool(values[9])
    return Chat(*values)


def as_message(row: Row) -> StoredMessage:
    """A message from the columns that every statement of messages gives."""
    text, typed = row[5], row[6]
    return StoredMessage(
        id=row[0],
        chat_id=row[1],
        ordinal=row[2],
        role=row[3],
        author=row[4],
        text=text,
        person_text=text if row[7] else typed,
        is_headless=bool(row[8]),
        sent_at=row[9],
        has_private=bool(row[10]),
        tool_use_ids=tuple((row[11] or "").split()),
        seq=row[12],
    )
