"""Apply one change: receipt, privacy, evidence, authority, and one transaction (R-044 to R-064)."""

from collections.abc import Callable
from typing import Any

from mash_plugin.errors import DuplicateRecord, RecordsDisabled, RuleBroken
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied, refuse_saving
from mash_plugin.memory.drafts import Draft, cite, insert_draft, prepare, save_draft, tokens_of
from mash_plugin.memory.forget import KEEP_HIDDEN_MS, after_removal
from mash_plugin.memory.heads import expected_head, intact_revision
from mash_plugin.memory.items import status_of_head
from mash_plugin.memory.links import link, unlink
from mash_plugin.memory.operation import ASKED_BY, Operation
from mash_plugin.memory.scopes import scope_of
from mash_plugin.records.authority import check_authority
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Body, Revision
from mash_plugin.records.transitions import (
    check_created_state,
    check_revision,
    check_supersede,
    counted_by_confirm,
    may_forget_at_once,
)
from mash_plugin.store.changes import (
    add_confirmations,
    add_link,
    add_revision,
    hide,
    remove_record,
)
from mash_plugin.store.failpoint import failpoint
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import Head, get_head
from mash_plugin.store.sqlite import Connection

BACKUPS_KEEP = (
    "Backups made before now still hold the text; the person removes it there with"
    " `mash backup rewrite`."
)
HIDDEN = (
    "The person established this record and no endorsement of theirs was cited: it is out of"
    " sight now and removed in 24 hours. Until then `mash undo` brings it back."
)
Json = dict[str, Any]


def apply_change(call: Call, request: Json) -> Json:
    """Save the change of a checked request, or answer its retry with the first receipt.

    A retry is recognised before anything else is looked at, and once more inside the
    transaction, so that any number of parallel sends has one effect.
    """
    with call.store.reading() as db:
        operation = Operation(identity_of(db), "record", request)
        if replay := operation.replay(db):
            return replay
    change = request["change"]
    # What is remembered can be forgotten whatever is switched off.
    if not call.settings.records_enabled and change["action"] != "forget":
        raise RecordsDisabled
    try:
        return _ACTIONS[change["action"]](call, operation, change)
    except RuleBroken:
        # Another send of the same request may have moved the head first: this one is its retry.
        with call.store.reading() as db:
            if replay := operation.replay(db):
                return replay
        raise


def _create(call: Call, operation: Operation, change: Json) -> Json:
    scope = scope_of(change["scope"])
    Denied(call).refuse_scope(scope)
    draft = prepare(call, scope, change)
    check_created_state(draft.body)
    check_authority(draft.body, draft.cites.cited)

    def create(db: Connection) -> tuple[Json, list[str]]:
        record_id, existing = save_draft(call, db, operation.owner, draft)
        if existing is not None and change["on_duplicate"] != "reuse":
            raise _duplicate(existing, call.now)
        receipt = {
            "action": "create",
            "id": record_id,
            "revision": existing.revision if existing else 1,
            "reused": existing is not None,
            "recorded_at": call.now,
        }
        return receipt | _warnings(draft.warnings), [record_id]

    return operation.once(call.store, create)


def _duplicate(existing: Head, now: int) -> DuplicateRecord:
    return DuplicateRecord(
        f"Record {existing.id} already says this. Read it; revise it if the meaning"
        " changed, or create with on_duplicate: reuse to point at it.",
        id=existing.id,
        revision=existing.revision,
        status=status_of_head(existing, now),
    )


def _revise(call: Call, operation: Operation, change: Json) -> Json:
    head, current = _read_expected(call, operation, change["expected"])
    draft = prepare(call, head.scope, change)
    check_revision(current.body, draft.body, draft.cites.cited)

    def revise(db: Connection) -> tuple[Json, list[str]]:
        expected_head(db, operation.owner, change["expected"])
        revision = draft.revision(head.revision + 1, call.now)
        add_revision(db, head, revision, draft.same, tokens_of(revision))
        receipt = {
            "action": "revise",
            "id": head.id,
            "revision": revision.revision,
            "recorded_at": call.now,
        }
        return receipt | _warnings(draft.warnings), [head.id]

    return operation.once(call.store, revise)


def _supersede(call: Call, operation: Operation, change: Json) -> Json:
    head, current = _read_expected(call, operation, change["expected"])
    draft = prepare(call, head.scope, change)
    check_supersede(current.body, draft.body, draft.cites.cited)
    retired = _retired(current, draft, call.now)

    def supersede(db: Connection) -> tuple[Json, list[str]]:
        expected_head(db, operation.owner, change["expected"])
        record_id = insert_draft(call, db, operation.owner, draft)
        failpoint("supersede_between_writes")
        same = interpretation_hash(head.scope, retired.body)
        add_revision(db, head, retired, same, tokens_of(retired))
        new, old = get_head(db, record_id), get_head(db, head.id)
        assert new is not None and old is not None  # noqa: S101, PT018 - written just now
        add_link(db, new, old, "supersedes", call.now, draft.cites.session_id)
        failpoint("supersede_before_receipt")
        receipt = {
            "action": "supersede",
            "id": record_id,
            "revision": 1,
            "superseded": {"id": head.id, "revision": retired.revision},
            "recorded_at": call.now,
        }
        return receipt | _warnings(draft.warnings), [record_id]

    return operation.once(call.store, supersede)


def _retired(current: Revision, draft: Draft, now: int) -> Revision:
    """The predecessor's last revision: its own words and citations, out of force (R-049)."""
    return Revision(
        current.revision + 1,
        current.body._replace(state="superseded"),
        now,
        tuple(e for e in current.evidence if e.added_by == "revision"),
        draft.cites.session_id,
    )


def _confirm(call: Call, operation: Operation, change: Json) -> Json:
    head, current = _read_expected(call, operation, change["expected"])
    cites = cite(call, head.scope, change)
    refuse_saving(call, head.scope, (e.chat_id for e in cites.evidence))

    def confirm(db: Connection) -> tuple[Json, list[str]]:
        head = expected_head(db, operation.owner, change["expected"])
        counted = counted_by_confirm(current, status_of_head(head, call.now), cites.cited)
        evidence = tuple(e._replace(added_by="confirmation") for e in cites.evidence)
        added = add_confirmations(db, head, evidence, counted, call.now, cites.session_id)
        confirmed = get_head(db, head.id)
        assert confirmed is not None  # noqa: S101 - read in this transaction
        receipt = {
            "action": "confirm",
            "id": head.id,
            "revision": head.revision,
            "confirmations_added": added,
            "confirmations_total": confirmed.confirmations,
            "recorded_at": call.now,
        }
        return receipt, [head.id]

    return operation.once(call.store, confirm)


def _forget(call: Call, operation: Operation, change: Json) -> Json:
    with call.store.reading() as db:
        head = expected_head(db, operation.owner, change["expected"])
    cites = cite(call, head.scope, change)
    is_final = may_forget_at_once(_claim_of(head), cites.cited)
    receipt = {
        "action": "forget",
        "id": head.id,
        "revision": head.revision,
        "forgotten": True,
        "recorded_at": call.now,
    }
    if is_final:
        receipt |= _warnings([BACKUPS_KEEP])
    else:
        receipt |= {"removed_at": call.now + KEEP_HIDDEN_MS} | _warnings([HIDDEN])
    asked_by = {"session_id": cites.session_id, "agent": call.caller.agent}
    receipt[ASKED_BY] = {name: who for name, who in asked_by.items() if who}

    def forget(db: Connection) -> tuple[Json, list[str]]:
        expected_head(db, operation.owner, change["expected"])
        if is_final:
            remove_record(db, head.id, call.now)
        else:
            hide(db, head.id, call.now, cites.session_id)
        return receipt, []  # it holds no content, and outlives the record

    answer = operation.once(call.store, forget, may_use_reserve=True)
    if is_final and not answer["replayed"]:
        after_removal(call)
    return answer


def _read_expected(call: Call, operation: Operation, at: Json) -> tuple[Head, Revision]:
    """The head that a change was made for, with what it says."""
    with call.store.reading() as db:
        head = expected_head(db, operation.owner, at)
        Denied(call).refuse_scope(head.scope)
        return head, intact_revision(call, db, head)


def _claim_of(head: Head) -> Body:
    """What a head claims to be, without its texts: they may be damaged."""
    return Body(
        kind=head.kind,
        state=head.state,
        statement="",
        recorded_by="",
        review=head.review,
        decided_by=head.decided_by,
    )


def _warnings(warnings: list[str]) -> Json:
    return {"warnings": warnings} if warnings else {}


_ACTIONS: dict[str, Callable[[Call, Operation, Json], Json]] = {
    "create": _create,
    "revise": _revise,
    "supersede": _supersede,
    "confirm": _confirm,
    "forget": _forget,
    "link": link,
    "unlink": unlink,
}
