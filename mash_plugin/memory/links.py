"""Join two records by a relation, or part them again (R-056)."""

from typing import Any

from mash_plugin.errors import NotFound
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.drafts import saving_session
from mash_plugin.memory.heads import expected_head
from mash_plugin.memory.items import status_of_head
from mash_plugin.memory.operation import Operation
from mash_plugin.records.transitions import End, check_link, choice_of
from mash_plugin.store.changes import add_link, remove_link
from mash_plugin.store.records import Head
from mash_plugin.store.sqlite import Connection

Json = dict[str, Any]


def link(call: Call, operation: Operation, change: Json) -> Json:
    """Add the link of a checked change; one that is there already is reused."""
    session = saving_session(call, change, ())

    def join(db: Connection) -> tuple[Json, list[str]]:
        source, target = _both_ends(call, db, operation, change)
        ends = _end_of(source, call.now), _end_of(target, call.now)
        check_link(*ends, change["relation"], operation.owner)
        is_new = add_link(db, source, target, change["relation"], call.now, session)
        return _receipt(call, change) | {"reused": not is_new}, [source.id, target.id]

    return operation.once(call.store, join)


def unlink(call: Call, operation: Operation, change: Json) -> Json:
    """Take a link away; raises NotFound where there is none in that direction."""

    def part(db: Connection) -> tuple[Json, list[str]]:
        source, target = _both_ends(call, db, operation, change)
        if not remove_link(db, source.id, target.id, change["relation"]):
            raise NotFound(
                f"{source.id} has no link {change['relation']!r} to {target.id}; get_record shows"
                " the links and their direction."
            )
        return _receipt(call, change), [source.id, target.id]

    return operation.once(call.store, part)


def _both_ends(call: Call, db: Connection, operation: Operation, change: Json) -> tuple[Head, Head]:
    source = expected_head(db, operation.owner, change["expected"])
    target = expected_head(db, operation.owner, change["target"])
    for head in (source, target):
        Denied(call).refuse_scope(head.scope)
    return source, target


def _end_of(head: Head, now: int) -> End:
    whose = choice_of(head.kind, head.decided_by)
    return End(head.id, head.owner, head.scope, status_of_head(head, now), whose)


def _receipt(call: Call, change: Json) -> Json:
    return {
        "action": change["action"],
        **change["expected"],
        "target": change["target"],
        "relation": change["relation"],
        "recorded_at": call.now,
    }
