"""Do citations still match after a chat was indexed again (R-024 to R-027)?"""

from collections.abc import Iterable

from mash_plugin.chats.reading import chat_of, message_by_id
from mash_plugin.memory.call import Call
from mash_plugin.records.evidence import status_of, status_without_source
from mash_plugin.records.model import Evidence, EvidenceStatus
from mash_plugin.store.changes import set_evidence_status
from mash_plugin.store.chats import SQL
from mash_plugin.store.records import evidence_of_chat
from mash_plugin.store.sqlite import Connection


def recheck(call: Call, chat_ids: Iterable[str]) -> int:
    """Compare every citation of these chats with the index; how many changed their state.

    A chat that the index does not know says nothing: a lost index is built again. One chat
    at a time, so that no long look keeps what was forgotten from being scrubbed.
    """
    return sum(_recheck_chat(call, chat_id) for chat_id in dict.fromkeys(chat_ids))


def recheck_rebuilt(call: Call) -> int:
    """Recheck every chat that was ever rewritten: whoever read it first, and whatever was lost.

    A daemon may end between the index and the check, and a record may be saved meanwhile.
    """
    with call.chats.database.reading() as db:
        chat_ids = [row[0] for row in db.all(SQL.rebuilt_chats)]
    return recheck(call, chat_ids)


def _recheck_chat(call: Call, chat_id: str) -> int:
    changes: list[tuple[int, str, EvidenceStatus]] = []
    with call.store.reading() as records, call.chats.database.reading() as chats:
        is_known = chat_of(chats, chat_id) is not None
        for row, record_id, evidence in evidence_of_chat(records, chat_id):
            status = _status(chats, evidence) if is_known else status_without_source(evidence)
            if status != evidence.status:
                changes.append((row, record_id, status))
    if changes:
        with call.store.writing() as db:
            set_evidence_status(db, changes, call.now)
    return len(changes)


def _status(chats: Connection, evidence: Evidence) -> EvidenceStatus:
    message = message_by_id(chats, evidence.message_id, evidence.chat_id)
    if message is None or message.chat_id != evidence.chat_id:
        return status_of(evidence, None, "unknown", "unknown")
    return status_of(evidence, message.text, message.role, message.author)
