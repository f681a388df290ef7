"""Let the records of a moved project follow it: told first, then done in one transaction."""

import os
from typing import Any, NamedTuple

from mash_plugin.compact_json import compact_json
from mash_plugin.digest import sha256_of
from mash_plugin.errors import InvalidArgument, NotFound, RevisionConflict
from mash_plugin.memory.call import Call
from mash_plugin.memory.scopes import real_folder
from mash_plugin.records.duplicates import interpretation_hash
from mash_plugin.records.model import Scope
from mash_plugin.store.rebind import ids_at, move_checkpoints, move_record, scopes_below
from mash_plugin.store.records import find_live, get_head, load_head
from mash_plugin.store.sqlite import Connection

Json = dict[str, Any]


class _Move(NamedTuple):
    """One folder's records on their way."""

    old: str
    new: str
    record_ids: tuple[str, ...]
    there: int
    """How many records the new place has already."""


def rebind(call: Call, request: Json) -> Json:
    """Move the records of a folder, and of those in it, to another; without `digest` only tell.

    The same with the two exchanged takes it back, where the new place had none of its own.
    Raises InvalidArgument, NotFound, or RevisionConflict when something changed since it was
    told.
    """
    old, new = request["old"], real_folder(request["new"])
    if "/" in (old, new):
        raise InvalidArgument("/ is never a project; name the folder of one.")
    if old == new:
        raise InvalidArgument(f"{old} is the new place too; nothing is to be moved.")
    if "digest" not in request:
        with call.store.reading() as db:
            return _told(db, old, new, _moves(db, old, new), done=False)
    with call.store.writing() as db:
        moves = _moves(db, old, new)
        told = _told(db, old, new, moves, done=True)
        if told["digest"] != request["digest"]:
            raise RevisionConflict(
                f"The records of {old} changed since they were listed; look at the list again."
            )
        for move in moves:
            _do(db, move)
    return told


def _moves(db: Connection, old: str, new: str) -> list[_Move]:
    found = scopes_below(db, old)
    if not found:
        raise NotFound(
            f"No records belong to {old} or a folder in it; `mash records --all` shows whose they"
            " are."
        )
    moves = []
    for path in found:
        target = new + path[len(old) :]
        there = len(ids_at(db, target)) if target not in found else 0
        moves.append(_Move(path, target, tuple(ids_at(db, path)), there))
    return moves


def _told(db: Connection, old: str, new: str, moves: list[_Move], *, done: bool) -> Json:
    return {
        "old": old,
        "new": new,
        "done": done,
        "records": sum(len(move.record_ids) for move in moves),
        "scopes": [
            {
                "from": move.old,
                "to": move.new,
                "records": len(move.record_ids),
                "there": move.there,
            }
            for move in moves
        ],
        "same": 0 if done else sum(_same(db, move) for move in moves if move.there),
        "old_exists": os.path.isdir(old),
        "new_exists": os.path.isdir(new),
        "digest": sha256_of(compact_json([old, new, moves]).encode()).hex(),
    }


def _same(db: Connection, move: _Move) -> int:
    """How many would say what a record of the new place says already; both are kept."""
    scope, number = Scope("local_project", move.new), 0
    for record_id in move.record_ids:
        head = get_head(db, record_id)
        revision = load_head(db, head) if head is not None else None
        if head is None or revision is None:
            continue
        same = find_live(db, head.owner, scope, interpretation_hash(scope, revision.body))
        number += same is not None
    return number


def _do(db: Connection, move: _Move) -> None:
    scope = Scope("local_project", move.new)
    for record_id in move.record_ids:
        head = get_head(db, record_id)
        if head is None:
            continue
        revision = load_head(db, head)
        same = interpretation_hash(scope, revision.body) if revision else None
        move_record(db, head, move.new, same)
    move_checkpoints(db, move.old, move.new)
