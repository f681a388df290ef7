"""The person's own commands: their hand at the terminal is the authority, no citation is asked.

Only commands that asked a person on a terminal call these; no tool leads here. Each of the two
changes first tells what it would do, and is then made only if that is still so.
"""

import os
from collections.abc import Sequence
from typing import Any

from mash_plugin.chats.reading import transcripts_of
from mash_plugin.errors import (
    Forgotten,
    InvalidArgument,
    InvalidState,
    NotFound,
    RecordsDisabled,
    RevisionConflict,
)
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.drafts import tokens_of
from mash_plugin.memory.forget import KEEP_HIDDEN_MS, after_removal
from mash_plugin.memory.heads import intact_revision, item_of_head, refuse_removed
from mash_plugin.memory.masking import masking
from mash_plugin.memory.private import refuse_private, refuse_repeated
from mash_plugin.memory.reading import get_record
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.evidence import is_stale
from mash_plugin.records.model import Body, Revision
from mash_plugin.records.terminal import established, reworded, still_cited, withdrawn
from mash_plugin.store.changes import add_revision, hidden_records, remove_record, unhide
from mash_plugin.store.operations import identity_of
from mash_plugin.store.provenance import list_saved
from mash_plugin.store.records import (
    Head,
    get_head,
    ids_from,
    is_forgotten,
    load_head,
    load_revision,
    removed_from,
)
from mash_plugin.store.sqlite import Connection

SHORTEST_START = 8
NAMED = 5
"""How many of the IDs that an ambiguous beginning fits are named."""
Json = dict[str, Any]


def show(call: Call, request: Json) -> Json:
    """A page of a record with its history and the sessions that saved it."""
    with call.store.reading() as db:
        record_id = find_id(db, request["id"])
        saved = {str(s.revision): s.session_id for s in list_saved(db, record_id) if s.session_id}
    asked = {"link_offset": request["link_offset"], "history": True, "limit": 20}
    if "before_revision" in request:
        asked["before_revision"] = request["before_revision"]
    page = get_record(call, {"id": record_id, **asked}) | {"sessions": saved}
    _mark_gone(call, [e for revision in page["revisions"] for e in revision["evidence"]])
    return page


def _mark_gone(call: Call, cited: list[Json]) -> None:
    """Mark the evidence that the index alone still holds: its transcript went away."""
    with call.chats.database.reading() as db:
        paths = {chat: transcripts_of(db, chat) for chat in {e["chat_id"] for e in cited}}
    for evidence in cited:
        files = paths[evidence["chat_id"]]
        if files and not any(map(os.path.lexists, files)):
            evidence["transcript_gone"] = True


def list_hidden(call: Call, _request: Json) -> Json:
    """The records that agents asked to forget and that can still be brought back."""
    with call.store.reading() as db:
        found = [
            {
                **_item(call, db, _head(db, hidden.record_id)),
                "hidden_at": hidden.hidden_at,
                "hidden_by": hidden.hidden_by,
                "removed_at": hidden.hidden_at + KEEP_HIDDEN_MS,
            }
            for hidden in hidden_records(db)
        ]
    return {"records": found}


def change(call: Call, request: Json) -> Json:
    """Establish, edit, withdraw, forget or bring back one record.

    What changed quotes took out of force is back in force once it is settled by hand.

    Without `revision` nothing is changed. Raises NotFound, Forgotten, InvalidArgument,
    InvalidState, InvalidTransition, RecordsDisabled, PrivateText, CredentialText or
    RevisionConflict.
    """
    if "revision" not in request:
        with call.store.reading() as db:
            head = _head(db, find_id(db, request["id"]))
            return _told(call, db, head, request)
    if request["action"] == "forget":
        return _forget(call, request)
    with call.store.writing() as db:
        head = _head(db, find_id(db, request["id"]))
        if request["action"] == "undo":
            return _bring_back(call, db, head)
        if head.revision == request["revision"] + 1 and _is_done(call, db, head, request):
            return _told(call, db, head, request, done=True)
        _expect(head, request["revision"])
        current = _current(call, db, head)
        body = _changed(call, head, current, request)
        if request["action"] in ("establish", "edit"):
            current = current._replace(evidence=still_cited(body, current.evidence))
        write(call, db, head, body, current)
        return _told(call, db, _head(db, head.id), request, done=True)


def write(call: Call, db: Connection, head: Head, body: Body, source: Revision) -> None:
    """Give the record this body by the person's hand, on the citations of `source`."""
    kept = tuple(e for e in source.evidence if e.added_by == "revision")
    revision = Revision(head.revision + 1, body, call.now, kept, None, "terminal")
    same = interpretation_hash(head.scope, body)
    if not add_revision(db, head, revision, same, tokens_of(revision)):
        raise RevisionConflict(f"Record {head.id} changed meanwhile; look at it again.")


def find_id(db: Connection, start: str) -> str:
    """The record whose ID this is, or begins so; raises NotFound, Forgotten, InvalidArgument."""
    if get_head(db, start) is not None:
        return start
    refuse_removed(db, start)
    if len(start) < SHORTEST_START:
        raise InvalidArgument(
            f"{start!r} is too short: give at least {SHORTEST_START} characters of the record's ID."
        )
    found = ids_from(db, start, NAMED + 1)
    if not found:
        refuse_removed(db, removed_from(db, start) or start)
        raise NotFound(
            f"There is no record whose ID begins with {start!r}; `mash records --all` lists them."
        )
    return only_one(start, found)


def only_one(start: str, found: Sequence[str]) -> str:
    """The ID that begins so; raises InvalidArgument where several do."""
    if len(found) > 1:
        more = " and more" if len(found) > NAMED else ""
        raise InvalidArgument(
            f"{start!r} is the beginning of {', '.join(found[:NAMED])}{more}; give more of the ID."
        )
    return found[0]


def _forget(call: Call, request: Json) -> Json:
    """At once and at any revision: nothing that an agent does meanwhile keeps the text."""
    with call.store.writing(may_use_reserve=True) as db:
        if not is_forgotten(db, request["id"]):  # else the first answer was lost
            remove_record(db, _head(db, request["id"]).id, call.now)
    after_removal(call)
    return {"action": "forget", "done": True, "id": request["id"]}


def _bring_back(call: Call, db: Connection, head: Head) -> Json:
    if head.hidden_at is None:
        raise InvalidState(f"Record {head.id} is not hidden: there is nothing to bring back.")
    unhide(db, head.id)
    return {"action": "undo", "done": True, **_item(call, db, _head(db, head.id))}


def _told(call: Call, db: Connection, head: Head, request: Json, done: bool = False) -> Json:
    """The record as it is, and what the change would make of it."""
    told: Json = {"action": request["action"], "done": done, **_item(call, db, head)}
    match request["action"]:
        case "undo":
            if head.hidden_at is None:
                raise InvalidState(f"Record {head.id} is not hidden: nothing is to bring back.")
        case "forget":
            pass
        case "edit" if "statement" not in request:
            _refuse_change(call, head, request["action"])
        case _ if not done:
            current = _current(call, db, head)
            body = _changed(call, head, current, request)
            becomes = {"review": body.review, "state": body.state, "statement": body.statement}
            shown = masking(call.settings)
            told["becomes"] = becomes | {"statement": shown(body.statement)}
            if body.decided_by:
                told["becomes"]["decided_by"] = body.decided_by
            if not body.is_retired and is_stale(current.evidence):
                stays = is_stale(still_cited(body, current.evidence))
                told["becomes"]["evidence"] = "stale" if stays else "by_hand"
    return told


def _changed(call: Call, head: Head, current: Revision, request: Json) -> Body:
    """What the record becomes. Raises what forbids it."""
    _refuse_change(call, head, request["action"])
    match request["action"]:
        case "withdraw":
            return withdrawn(current.body)
        case "establish":
            return established(current.body, is_stale(current.evidence))
        case "edit" if "statement" in request:
            asked = {"statement": request["statement"]}
            refuse_private(call, asked, "edit")
            refuse_repeated(call, asked, current.evidence)
            return reworded(current.body, request["statement"], is_stale(current.evidence))
        case "edit":
            raise InvalidArgument("To edit a record, give its new statement.")
        case other:
            raise InvalidArgument(f"There is no change {other!r}.")


def _refuse_change(call: Call, head: Head, action: str) -> None:
    if head.hidden_at is not None:
        raise Forgotten(
            f"Record {head.id} was forgotten by an agent; `mash undo {head.id}` brings it back"
            " first."
        )
    Denied(call).refuse_scope(head.scope)
    if action != "withdraw" and not call.settings.records_enabled:
        raise RecordsDisabled


def _is_done(call: Call, db: Connection, head: Head, request: Json) -> bool:
    """Whether the head is this very change: its first answer was lost."""
    before = load_revision(db, head, request["revision"])
    now = load_head(db, head)
    if before is None or now is None or now.origin != "terminal":
        return False
    return now.body == _changed(call, head, before, request)


def _expect(head: Head, revision: int) -> None:
    if head.revision != revision:
        raise RevisionConflict(
            f"Record {head.id} changed since it was shown (revision {head.revision}, not"
            f" {revision}); look at it again.",
            id=head.id,
            current_revision=head.revision,
        )


def _head(db: Connection, record_id: str) -> Head:
    head = get_head(db, record_id)
    if head is None:
        raise NotFound(f"There is no record {record_id!r}.")
    return head


def _current(call: Call, db: Connection, head: Head) -> Revision:
    if head.owner != identity_of(db).owner:
        raise InvalidState(
            f"Record {head.id} was imported from another owner: it can be forgotten, not changed."
        )
    return intact_revision(call, db, head)


def _item(call: Call, db: Connection, head: Head) -> Json:
    """The record as lists show it; damaged, or of a project that is left out, without its text."""
    revision = load_head(db, head)
    if revision is None or Denied(call).has_record(head):
        return {"record": {"id": head.id, "revision": head.revision, "kind": head.kind}}
    return {"record": item_of_head(call, db, head, revision)}
