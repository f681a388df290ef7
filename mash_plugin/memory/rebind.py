"""Let the records of a folder follow its project: told first, then done in one transaction.

A project that has a remote by now has them for every clone (R-042).
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from mash_plugin.chats.project import Project, project_of
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
    scope: Scope
    record_ids: tuple[str, ...]
    there: int
    """How many records the new place has already."""


def rebind(call: Call, request: Json) -> Json:
    """Move the records of a folder, and of those in it, to another; without `digest` only tell.

    The same with the two exchanged takes it back, where the new place is a folder and had none of
    its own. Raises InvalidArgument, NotFound, or RevisionConflict when something changed since it
    was told.
    """
    old, new = request["old"], real_folder(request["new"])
    if "/" in (old, new):
        raise InvalidArgument("/ is never a project; name the folder of one.")
    _refuse_part(request["new"], new)
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


def left_in_folders(counts: Mapping[str, int]) -> dict[str, int]:
    """Those of the folders with records that have a remote by now.

    Call it with no store held open: a folder may lie on a disk that does not answer.
    """
    return {p: count for p, count in counts.items() if scope_of_folder(p).kind == "repository"}


def _moves(db: Connection, old: str, new: str) -> list[_Move]:
    found = scopes_below(db, old)
    if not found:
        raise NotFound(
            f"No records belong to {old} or a folder in it; `mash records --all` shows whose they"
            " are."
        )
    moves = []
    for path in found:
        place = new + path[len(old) :]
        scope = scope_of_folder(place)
        if scope.kind == "local_project":
            scope = Scope("local_project", place)  # each its own: the reverse brings them back
        if scope == Scope("local_project", path):
            continue
        is_moving = scope.kind == "local_project" and scope.value in found
        there = 0 if is_moving else len(ids_at(db, scope))
        record_ids = ids_at(db, Scope("local_project", path))
        moves.append(_Move(path, scope, tuple(record_ids), there))
    if not moves:
        raise InvalidArgument(
            f"{old} is the new place too, and has no remote: nothing is to be moved."
        )
    return moves


def scope_of_folder(folder: str) -> Scope:
    """Where the memory of a folder lies now."""
    project = _project_in(folder)
    return project.scope if project else Scope("local_project", folder)


def _project_in(folder: str) -> Project | None:
    return project_of(folder) if os.path.isdir(folder) else None


def _refuse_part(folder: str, new: str) -> None:
    """No session looks for records at a folder that is only part of a project."""
    project = _project_in(folder)
    if project is not None and project.identity is None and project.place != new:
        raise InvalidArgument(
            f"{new} is part of the project {project.place}, whose memory lies there: name that"
            " folder."
        )


def _told(db: Connection, old: str, new: str, moves: list[_Move], *, done: bool) -> Json:
    return {
        "old": old,
        "new": new,
        "done": done,
        "records": sum(len(move.record_ids) for move in moves),
        "scopes": [
            {
                "from": move.old,
                "to": move.scope.value,
                "kind": move.scope.kind,
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
    number = 0
    for record_id in move.record_ids:
        head = get_head(db, record_id)
        revision = load_head(db, head) if head is not None else None
        if head is None or revision is None:
            continue
        meaning = interpretation_hash(move.scope, revision.body)
        same = find_live(db, head.owner, move.scope, meaning)
        number += same is not None
    return number


def _do(db: Connection, move: _Move) -> None:
    for record_id in move.record_ids:
        head = get_head(db, record_id)
        if head is None:
            continue
        revision = load_head(db, head)
        same = interpretation_hash(move.scope, revision.body) if revision else None
        move_record(db, head, move.scope, same)
    move_checkpoints(db, move.old, move.scope)
