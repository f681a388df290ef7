"""Forget a chat with every record that cites it, for ever or until it is restored (R-178 to R-180).

Two files are changed, so the order matters: the mark and the records first, in one transaction,
then the index. A daemon that is killed in between finds the mark when it starts and goes on.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from mash_plugin.agents import AGENTS
from mash_plugin.chat_ids import chat_id as id_of
from mash_plugin.chats.forget import scrub_index
from mash_plugin.errors import ChatNotFound, MashError
from mash_plugin.memory.call import Call
from mash_plugin.memory.masking import masking
from mash_plugin.store.changes import remove_record
from mash_plugin.store.chats import ForgettableChat, Held, chats_to_forget, held_by
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.forgotten import (
    RecordLine,
    count_checkpoints,
    describe_records,
    has_mark,
    has_marks,
    mark_chats,
    records_of_chats,
    remove_traces,
    scrub_deleted,
    unmark_chats,
)

Json = dict[str, Any]


class Going(NamedTuple):
    """A chat with the chats of the agents that it started, wherever they are known."""

    chat_id: str
    indexed: list[ForgettableChat]
    held: Held
    transcripts: list[tuple[str, str, str]]
    """(agent, session, path); the files stay with the agent."""

    @property
    def chat_ids(self) -> list[str]:
        """The IDs of all, this one first."""
        found = [c.id for c in self.indexed]
        found += [id_of(agent, session) for agent, session, _path in self.transcripts]
        return list(dict.fromkeys([self.chat_id, *found]))

    @property
    def marked(self) -> list[str]:
        """The IDs that need a mark: a session's stands for its agents' `SESSION/...` as well."""
        pairs = [(c.source, c.session_id) for c in self.indexed]
        pairs += [(agent, session) for agent, session, _path in self.transcripts]
        own = [id_of(source, session) for source, session in pairs if "/" not in session]
        return list(dict.fromkeys([self.chat_id, *own]))

    @property
    def session_ids(self) -> list[str]:
        """The sessions of all."""
        found = [c.session_id for c in self.indexed]
        found += [session for _agent, session, _path in self.transcripts]
        if not found:  # neither indexed nor on disk: the ID tells
            found += [
                self.chat_id.removeprefix(f"{name}-")
                for name in AGENTS
                if self.chat_id.startswith(f"{name}-")
            ]
        return list(dict.fromkeys(found))


def find_going(call: Call, chat_id: str) -> Going:
    """What hangs together with a chat. Raises ChatNotFound when nothing is known of it."""
    with call.chats.database.reading() as db:
        indexed = chats_to_forget(db, chat_id)
        held = held_by(db, [c.number for c in indexed])
    files = [(f.agent, f.session_id, f.path) for f in call.chats.files_of_chat(chat_id)]
    going = Going(chat_id, indexed, held, files)
    with call.store.reading() as db:
        is_known = (
            bool(indexed or files)
            or has_mark(db, chat_id)
            or bool(records_of_chats(db, [chat_id]) or count_checkpoints(db, [chat_id]))
        )
    if not is_known:
        raise ChatNotFound(
            f"No chat has the ID {chat_id!r}, and no record cites it. `mash chats` lists the IDs."
        )
    return going


def preview(call: Call, going: Going) -> Json:
    """What `forget_chat` would remove now, credentials masked."""
    with call.store.reading() as db:
        was_forgotten = has_mark(db, going.chat_id)
    return {
        "id": going.chat_id,
        **what_goes(call, going.indexed, going.held, going.chat_ids),
        "transcripts": [path for _agent, _session, path in going.transcripts],
        "was_forgotten": was_forgotten,
    }


def what_goes(
    call: Call, chats: Sequence[ForgettableChat], held: Held, chat_ids: Sequence[str]
) -> Json:
    """What would go with these chats, credentials masked."""
    shown = masking(call.settings)
    with call.store.reading() as db:
        records = describe_records(db, records_of_chats(db, chat_ids))
        checkpoints = count_checkpoints(db, chat_ids)
    return {
        "chats": [
            {"id": c.id, "title": shown(c.title or ""), "messages": c.message_count} for c in chats
        ],
        "messages": held.messages - held.shared,
        "kept_messages": held.shared,
        "kept_with": list(held.also_held_by),
        "records": _shown(call, records),
        "checkpoints": checkpoints,
    }


def forget_chat(call: Call, going: Going) -> Json:
    """Remove the chat and every record that cites it; what was removed, as `preview` tells it."""
    removed = preview(call, going)
    removed["records"] = remove_with_records(call, going.marked, going.chat_ids, going.session_ids)
    return removed | {"forgotten": True, "is_scrubbed": finish_forgetting(call)}


def remove_with_records(
    call: Call, marked: Sequence[str], chat_ids: Sequence[str], session_ids: Sequence[str]
) -> list[Json]:
    """Mark the chats and remove every record that cites them; these, as `preview` tells them.

    The index still holds the chats: `finish_forgetting` takes them out.
    """
    with call.store.writing(may_use_reserve=True) as db:
        mark_chats(db, marked, call.now)
        record_ids = records_of_chats(db, chat_ids)
        records = describe_records(db, record_ids)
        for record_id in record_ids:
            remove_record(db, record_id, call.now)
        remove_traces(db, chat_ids, session_ids)
    failpoint("between_stores")
    return _shown(call, records)


def finish_forgetting(call: Call) -> bool:
    """Do what a removal left to be done, here or in a process that was killed; False if not all.

    What cannot be done now is noted in the files: the background work comes back to it.
    """
    is_done = scrub_deleted(call.store)
    try:
        with call.store.reading() as db:
            has_some = has_marks(db)
        if has_some:
            call.chats.remove_forgotten()
    except MashError:
        call.chats.database.on_unclean()
        return False
    return scrub_index(call.chats.database) and is_done


def restore_chat(call: Call, chat_id: str) -> Json:
    """Let a forgotten chat into the index again; its records stay removed.

    Raises ChatNotFound when that chat was not forgotten.
    """
    files = call.chats.files_of_chat(chat_id)
    ids = [chat_id, *(id_of(file.agent, file.session_id) for file in files)]
    with call.store.writing() as db:
        was_forgotten = unmark_chats(db, dict.fromkeys(ids))
    if not was_forgotten:
        raise ChatNotFound(f"The chat {chat_id!r} is not forgotten. `mash chats` lists the IDs.")
    restored = []
    for file in files:
        with suppress(MashError):  # the next full run reads it
            restored.append(call.chats.refresh_path(file.agent, file.path, call.now))
    return {"id": chat_id, "restored": [i for i in restored if i], "has_transcript": bool(files)}


def _shown(call: Call, records: Sequence[RecordLine]) -> list[Json]:
    shown = masking(call.settings)
    return [record._asdict() | {"statement": shown(record.statement)} for record in records]
