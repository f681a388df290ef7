"""Forget chats in the index, leave no byte of them in its file, and find what may come back."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mash_plugin.agents.events import TranscriptFile
from mash_plugin.chat_ids import chat_id as id_of
from mash_plugin.store.chats import SQL, delete_chats, merge_words
from mash_plugin.store.files import keep_log_short
from mash_plugin.store.forgotten import has_mark, scrub_deleted
from mash_plugin.store.sqlite import Database

if TYPE_CHECKING:  # the readers take 20 ms to import, and no hook waits for them
    from mash_plugin.chats.transcripts import Transcripts

IsForgotten = Callable[[str, str], bool]
MERGE_PAGES = 500
"""One step takes some 30 ms: a citing call never waits for the whole."""


def forgotten_test(store: Database) -> IsForgotten:
    """Whether a session was forgotten, or the one whose agent it is."""

    def is_forgotten(source: str, session_id: str) -> bool:
        parent, slash, _name = session_id.partition("/")
        with store.reading() as db:
            return has_mark(db, id_of(source, session_id)) or (
                bool(slash) and has_mark(db, id_of(source, parent))
            )

    return is_forgotten


def remove_forgotten(index: Database, is_forgotten: IsForgotten) -> int:
    """Remove what the index still holds of forgotten chats; how many messages.

    A daemon that is killed between the two stores leaves a chat that is marked and still there.
    """
    with index.reading() as db:
        rows = db.all(SQL.all_chats)
    gone = [
        (number, source, session)
        for number, source, session, parent in rows
        if is_forgotten(source, session) or (parent and is_forgotten(source, parent))
    ]
    if not gone:
        return 0
    with index.writing(may_use_reserve=True) as db:
        return delete_chats(db, [number for number, _source, _session in gone])


def scrub_index(index: Database) -> bool:
    """Leave no byte of deleted messages in the file; False when that could not be done now."""
    return scrub_deleted(index, lambda: _merge(index))


def find_chat(transcripts: "Transcripts", chat_id: str) -> list[TranscriptFile]:
    """The transcripts of a chat and of the agents that it started, also forgotten ones."""
    files = list(_every(transcripts))
    found = [file for file in files if id_of(file.agent, file.session_id) == chat_id]
    sessions = {(file.agent, file.session_id) for file in found}
    if not found:
        return []
    with transcripts.database.reading() as db:
        known = {path for (path,) in db.all(SQL.known_paths)}
    for file in files:
        parent, slash, _name = file.session_id.partition("/")
        if (file.agent, file.session_id) in sessions:
            continue
        # Only the transcript itself tells whose agent's it is; the index knows it of the others.
        if not slash and file.path not in known:
            parent = transcripts.parent_of(file) or ""
        if (file.agent, parent) in sessions:
            found.append(file)
    return found


def _every(transcripts: "Transcripts") -> Iterator[TranscriptFile]:
    for name, root in transcripts.roots():
        host = transcripts.agent_named(name)
        yield from host.find_transcripts(root) if host else ()


def _merge(index: Database) -> None:
    goes_on, is_first = True, True
    while goes_on:
        with index.writing(may_use_reserve=True) as db:
            goes_on = merge_words(db, MERGE_PAGES, is_first=is_first)
        is_first = False
        keep_log_short(index)
