"""Records of folders that are gone: where the project may have moved to."""

import os
from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

from mash_plugin.doctor.finding import Finding, Repair
from mash_plugin.doctor.machine import Machine
from mash_plugin.errors import MashError
from mash_plugin.memory.rebind import left_in_folders, scope_of_folder
from mash_plugin.records.model import Scope
from mash_plugin.store.queries import load
from mash_plugin.store.rebind import scopes_below
from mash_plugin.wording import counted

SQL = load("doctor")
SCANNED = 500
"""Folders beside the old place that are looked at."""


def check_scopes(machine: Machine) -> Iterator[Finding]:
    """Every folder that records belong to, if it is there no more or is a repository's by now."""
    if not machine.has_store:
        return
    with machine.reading(machine.paths.store) as db:
        counts = scopes_below(db, "")
    gone = {path: count for path, count in counts.items() if not os.path.isdir(path)}
    if not gone:
        yield Finding(
            "scopes", "ok", f"{counted(len(counts), 'folder')} with records, none of them gone"
        )
    for path, count in left_in_folders(counts).items():
        text = f"{counted(count, 'record')} of {path}, saved before it had a remote"
        why = "no other clone has them, and no group gets them"
        yield Finding("scope-left", "note", text, why, f"mash rebind {quote(path)}")
    for path, count in gone.items():
        if not any(path.startswith(other + "/") for other in gone):
            inside = sum(n for other, n in gone.items() if other.startswith(path + "/"))
            yield _orphan(machine, path, count + inside, set(counts))


def _orphan(machine: Machine, path: str, count: int, taken: set[str]) -> Finding:
    found = [place for place in likely_places(machine, path) if place not in taken]
    text = f"{counted(count, 'record')} of {path}, which is gone"
    if len(found) == 1:
        (new,) = found
        why = f"if it moved to {new}, its records follow"
        line = f"mash rebind {quote(path)} {quote(new)}"
        question = f"Move {counted(count, 'record')} from {path} to {new}?"
        # Records of a repository may be published: the command alone asks for that.
        is_safe = scope_of_folder(new) == Scope("local_project", new)
        repair = Repair(lambda: _rebind(machine, path, new), question) if is_safe else None
        return Finding("scope-orphaned", "warning", text, why, line, repair)
    why = "if the project moved, its records can follow; else they stay for when it is back"
    if found:
        why += f"; it may be {', '.join(found[:3])}"
    return Finding("scope-orphaned", "note", text, why, f"mash rebind {quote(path)} NEW_FOLDER")


def likely_places(machine: Machine, path: str) -> list[str]:
    """Folders of that name that are near the old place, or that agents worked in since."""
    name = os.path.basename(path)
    seen = [*_worked_in(machine), *_nearby(path)]
    if machine.project is not None and machine.project.identity is None:
        seen.append(machine.project.place)
    real = (os.path.realpath(one) for one in seen if os.path.basename(one) == name)
    return sorted({one for one in real if one != path and os.path.isdir(one)})


def _worked_in(machine: Machine) -> list[str]:
    """Folders of chats and of hooks."""
    places: list[str] = []
    for file, sql in (
        (machine.paths.store, SQL.folders_of_hooks),
        (machine.paths.chats, SQL.folders_of_chats),
    ):
        if os.path.exists(file):
            with suppress(MashError), machine.reading(file) as db:
                places += [str(place) for (place,) in db.all(sql)]
    return places


def _nearby(path: str) -> Iterator[str]:
    """Folders below the nearest ancestor that is left, two levels deep."""
    base = os.path.dirname(path)
    while not os.path.isdir(base):
        base = os.path.dirname(base)
    name, left = os.path.basename(path), SCANNED
    for place in (base, os.path.dirname(base)):
        if place == "/":
            return
        for folder in _folders(place):
            left -= 1
            if left < 0:
                return
            yield folder
            yield os.path.join(folder, name)


def _folders(place: str) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return sorted(e.path for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _rebind(machine: Machine, old: str, new: str) -> str:
    from mash_plugin import client

    told = client.call("terminal_rebind", {"old": old, "new": new}, paths=machine.paths)
    request = {"old": old, "new": new, "digest": told["digest"]}
    done = client.call("terminal_rebind", request, paths=machine.paths)
    back = f"mash rebind {quote(new)} {quote(old)}"
    return f"moved {counted(done['records'], 'record')} from {old} to {new}; `{back}` undoes it"
