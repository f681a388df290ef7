"""Take back everything that one session saved: a session that was led astray, say by a web page."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mash_plugin.chats.reading import chat_of
from mash_plugin.compact_json import compact_json
from mash_plugin.digest import sha256_of
from mash_plugin.errors import ChatNotFound, InvalidArgument, NotFound, RevisionConflict
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.masking import Masking, masking
from mash_plugin.memory.terminal import NAMED, SHORTEST_START, only_one, write
from mash_plugin.records.terminal import TakenBack, taken_back, withdrawn
from mash_plugin.store.operations import identity_of
from mash_plugin.store.provenance import (
    OfSession,
    list_saved,
    newest_session,
    of_session,
    records_of_session,
    sessions_from,
    take_back,
)
from mash_plugin.store.records import Head, get_head, load_head, load_revision, replacements
from mash_plugin.store.sqlite import Connection
from mash_plugin.wording import NEWEST

Json = dict[str, Any]


class _Step(NamedTuple):
    """What becomes of one record."""

    head: Head
    taken: TakenBack

    @property
    def key(self) -> tuple[str, int, str, int | None]:
        return (self.head.id, self.head.revision, *self.taken)


class _Plan(NamedTuple):
    """Everything that taking a session back does."""

    session_id: str
    steps: list[_Step]
    others: OfSession

    @property
    def digest(self) -> str:
        """Changes with whatever would be done."""
        keys = [self.session_id, [step.key for step in self.steps], self.others]
        return sha256_of(compact_json(keys).encode()).hex()


def withdraw_session(call: Call, request: Json) -> Json:
    """Take back what a session, or the session of a chat, saved; without `digest` only tell.

    Raises InvalidArgument, ChatNotFound, NotFound, or RevisionConflict when something changed
    since it was told.
    """
    if "digest" not in request:
        with call.store.reading() as db:
            plan = _plan(db, _session(call, db, request))
            return _told(call, db, plan, done=False)
    with call.store.writing() as db:
        plan = _plan(db, _session(call, db, request))
        if plan.digest != request["digest"]:
            raise RevisionConflict(
                f"What session {plan.session_id} saved has changed since it was listed; look at"
                " the list again."
            )
        told = _told(call, db, plan, done=True)
        take_back(db, plan.session_id, plan.others)
        for step in plan.steps:
            _do(call, db, step)
    return told


def _session(call: Call, db: Connection, request: Json) -> str:
    """The session that is meant, by its ID, the beginning of it, or its chat; or the newest."""
    if ("session_id" in request) == ("chat_id" in request):
        raise InvalidArgument("Give either a session or a chat.")
    if "chat_id" in request:
        with call.chats.database.reading() as chats:
            chat = chat_of(chats, request["chat_id"])
        if chat is None:
            raise ChatNotFound(
                f"No chat {request['chat_id']!r} in the index; `mash chats` lists them, and"
                " --session takes the session's ID, which `mash log` shows."
            )
        return chat.session_id
    start: str = request["session_id"]
    if start == NEWEST:
        newest = newest_session(db)
        if newest is None:
            raise NotFound("No session has saved anything yet.")
        return newest
    found = sessions_from(db, start, NAMED + 1)
    if len(start) < SHORTEST_START and start not in found:
        raise InvalidArgument(
            f"{start!r} is too short: give at least {SHORTEST_START} characters of the session's"
            " ID. `mash log` shows the sessions that saved something."
        )
    return start if start in found or not found else only_one(start, found)


def _plan(db: Connection, session_id: str) -> _Plan:
    steps = {step.head.id: step for step in _steps(db, session_id)}
    decided = [_unless_replaced(db, steps, step) for step in steps.values()]
    restored = {step.head.id for step in decided if step.taken.action == "restore"}
    others = of_session(db, session_id)
    # Where a record stays superseded, the link says by what.
    links = tuple(x for x in others.links if x.relation != "supersedes" or x.target in restored)
    return _Plan(session_id, decided, others._replace(links=links))


def _steps(db: Connection, session_id: str) -> Iterator[_Step]:
    owner = identity_of(db).owner
    for record_id in records_of_session(db, session_id):
        head = get_head(db, record_id)
        if head is not None and head.owner == owner:
            saved = list_saved(db, record_id)
            yield _Step(head, taken_back(saved, session_id, bool(head.retired)))


def _unless_replaced(db: Connection, steps: dict[str, _Step], step: _Step) -> _Step:
    """A superseded record does not come back beside what others put in its place since."""
    head, taken = step
    if taken.action == "restore" and head.state == "superseded":
        seen = {head.id}
        if any(_stands(db, steps, new, seen) for new in replacements(db, head.id)):
            return _Step(head, TakenBack("keep", head.revision))
    return step


def _stands(db: Connection, steps: dict[str, _Step], record_id: str, seen: set[str]) -> bool:
    """Whether a record, or what took its place in turn, is in force afterwards."""
    head = steps[record_id].head if record_id in steps else get_head(db, record_id)
    if head is None or head.hidden_at is not None or record_id in seen:
        return False
    seen.add(record_id)
    action = steps[record_id].taken.action if record_id in steps else "keep"
    if action == "keep" and head.state == "superseded":
        return any(_stands(db, steps, new, seen) for new in replacements(db, record_id))
    return action == "restore" or (action == "keep" and not head.retired)


def _do(call: Call, db: Connection, step: _Step) -> None:
    head, taken = step
    if taken.action == "keep":
        return
    current = load_head(db, head)
    source = current
    if taken.revision is not None:
        source = load_revision(db, head, taken.revision)
    if source is None:
        call.on_damaged(head.id)
        return
    body = source.body if taken.action == "restore" else withdrawn(source.body)
    write(call, db, head, body, source)


def _told(call: Call, db: Connection, plan: _Plan, *, done: bool) -> Json:
    if not plan.steps and not any(plan.others):
        raise NotFound(
            f"Session {plan.session_id!r} saved nothing; `mash log --since 30d` shows which did."
        )
    shown, denied = masking(call.settings), Denied(call)
    return {
        "session_id": plan.session_id,
        "done": done,
        "records": [_step_json(db, step, shown, denied) for step in plan.steps],
        "confirmations": len(plan.others.confirmations),
        "links": len(plan.others.links),
        "brought_back": list(plan.others.hidden),
        "digest": plan.digest,
    }


def _step_json(db: Connection, step: _Step, shown: Masking, denied: Denied) -> Json:
    head, taken = step
    told: Json = {
        "id": head.id,
        "revision": head.revision,
        "kind": head.kind,
        "action": taken.action,
        "recorded_at": head.recorded_at,
        "is_retired": bool(head.retired),
    }
    if denied.has_record(head):
        return told
    if current := load_head(db, head):
        told["statement"] = shown(current.body.statement)
        told["state"] = current.body.state
    if taken.action == "restore" and taken.revision is not None:
        told["restored_revision"] = taken.revision
        if restored := load_revision(db, head, taken.revision):
            told["restored_statement"] = shown(restored.body.statement)
            told["restored_state"] = restored.body.state
            told["restored_review"] = restored.body.review
    return told
