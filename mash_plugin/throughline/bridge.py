"""The coding agents' sessions as channels: captured from the index, told where the next begins.

A channel is AGENT:REPOSITORY; all of them are captured under the one agent name and workspace
that [throughline] names.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

from mash_plugin.chats.reading import Chat, StoredMessage
from mash_plugin.throughline.artifacts import SUMMARY, Source
from mash_plugin.throughline.capture import Captured, keep
from mash_plugin.throughline.matching import whole_name
from mash_plugin.throughline.session import session_of
from mash_plugin.throughline.settings import Settings
from mash_plugin.throughline.store import (
    Memory,
    newest_with,
    open_database,
    sessions_in,
)
from mash_plugin.throughline.transcript import Author, Message

KIND = "chat"
IDLE_MS = 30 * 60_000
WINDOW_MS = 48 * 3_600_000
LINES = 3
LOOKED_AT = 200
LONGEST_NAME = 200


class Happened(NamedTuple):
    """One line of what happened in another session."""

    at: int
    channel: str
    text: str


def capture_chat(
    agent: str, repository: str, chat: Chat, messages: Iterable[StoredMessage], place: str, now: int
) -> Captured | None:
    """Queue what is worth keeping of a chat; None where its names are too long to tell."""
    source = Source(agent, chat.session_id, channel_of(chat.source, repository), KIND)
    if len(source.channel) > LONGEST_NAME or len(source.session) > LONGEST_NAME:
        return None
    return keep(source, session_of([_message(one)] for one in messages), place, now)


def happened_elsewhere(
    agent: str, settings: Settings, channels: Iterable[str], session: str, now: int
) -> list[Happened]:
    """What agents noted in other sessions of these channels of late, the newest first."""
    since = now - WINDOW_MS
    db = open_database(settings, to_write=False)
    try:
        rows = [
            row
            for channel in channels
            for row in _recent(newest_with(db, agent, "working", whole_name(channel)), since)
            if row.session != session and row.sort_at <= now
        ]
    finally:
        db.close()
    told = {row.session for row in rows if row.category != SUMMARY}
    rows = [row for row in rows if row.category != SUMMARY or row.session not in told]
    rows.sort(key=lambda row: (row.sort_at, row.mem_id), reverse=True)
    return [Happened(row.sort_at, row.channel or "", row.text) for row in rows[:LINES]]


def forget_sessions(
    agent: str,
    settings: Settings,
    sources: Iterable[str],
    is_forgotten: Callable[[str, str], bool],
    now: int,
) -> None:
    """Forget what was captured of sessions that the person had forgotten."""
    from mash_plugin.throughline.forget import Wanted, forget, stores  # no hook needs it

    gone: set[str] = set()
    for place in stores(settings):
        with closing(open_database(place, to_write=False)) as db:
            for source in sources:
                sessions = sessions_in(db, agent, channel_of(source, ""))
                gone.update(session for session in sessions if is_forgotten(source, session))
    if gone:
        forget(settings, Wanted(agent, tuple(sorted(gone))), now)


def channel_of(source: str, repository: str) -> str:
    """How the sessions of an agent in a repository are named."""
    return f"{source}:{repository}"


def _recent(rows: Iterator[Memory], since: int) -> Iterator[Memory]:
    for number, row in enumerate(takewhile(lambda row: row.sort_at > since, rows)):
        if number == LOOKED_AT:
            return
        yield row


def _message(stored: StoredMessage) -> Message:
    """Whoever is not known for sure to be the agent or a tool may be the person."""
    author: Author = "person"
    if stored.role == "tool":
        author = "machine"
    elif stored.author == "agent":
        author = "agent"
    sent = stored.sent_at
    stamp = None if sent is None else datetime.fromtimestamp(sent / 1000, UTC).isoformat()
    return Message(author, stored.text, stamp)
