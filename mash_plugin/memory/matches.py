"""Records that say the same or nearly so, before one is saved (R-108 to R-110). Writes nothing."""

from typing import Any

from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.heads import readable_revision
from mash_plugin.memory.items import item_of, status_of_head
from mash_plugin.memory.masking import masking
from mash_plugin.memory.scopes import known_chat, scope_of
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Body, Scope
from mash_plugin.records.similarity import Likeness, compare, wording_of
from mash_plugin.store.matches import Comparable, newest_of_kind
from mash_plugin.store.operations import identity_of
from mash_plugin.store.records import conflicted_among

LOOKED_AT = 256
SHOWN = 8
Item = dict[str, Any]


def find_record_matches(call: Call, request: dict[str, Any]) -> Item:
    """The records of that scope and kind whose wording is equal or similar, the best first.

    Retired, stale and unconfirmed ones are shown too, labelled: whoever asks has to judge.
    """
    scope, asked = scope_of(request["scope"]), request["body"]
    Denied(call).refuse_scope(scope)
    same = _interpretation(scope, asked)
    with call.store.reading() as db:
        owner = identity_of(db).owner
        heads = newest_of_kind(db, owner, scope, asked["details"]["kind"], LOOKED_AT + 1)
        matches: list[Item] = []
        found = _similar(asked["statement"], heads[:LOOKED_AT])
        conflicts = conflicted_among(db, [other.head.id for _, other in found], call.now)
        shown = masking(call.settings)
        for likeness, other in found:
            head = other.head
            revision = readable_revision(call, db, head)
            if revision is None:
                continue
            status, conflicted = status_of_head(head, call.now), head.id in conflicts
            matches.append(
                {
                    "match": likeness.match,
                    "identical": not head.retired and other.interpretation_hash == same,
                    "score": likeness.score,
                    "record": item_of(head, revision, status, conflicted, shown),
                }
            )
            if len(matches) == SHOWN:
                break
    if scope.kind == "chat" and not heads:
        known_chat(call.chats, scope.value)
    return {"matches": matches, "scan_limited": len(heads) > LOOKED_AT}


def _similar(statement: str, heads: list[Comparable]) -> list[tuple[Likeness, Comparable]]:
    """Those with an equal or similar statement, the best and then the newest first."""
    asked = wording_of(statement)
    compared = [(compare(asked, wording_of(other.statement)), other) for other in heads]
    found = [(likeness, other) for likeness, other in compared if likeness is not None]
    return sorted(found, key=lambda pair: -pair[0].score)  # stable: the newest stay first


def _interpretation(scope: Scope, asked: Item) -> bytes | None:
    """What create would find a duplicate by; None where the body does not say enough."""
    details = asked["details"]
    if "state" not in details or (details["kind"] == "fact" and "reported_by" not in details):
        return None
    body = Body(
        statement=asked["statement"],
        recorded_by="",  # who records does not count
        review=asked["review"],
        effective_at=asked.get("effective_at"),
        **details,
    )
    return interpretation_hash(scope, body)
