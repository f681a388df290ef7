"""What the person switched off for one project, and where: for refusals and for commands."""

import os
from typing import NamedTuple

from mash_plugin.chats.project import (
    MARKER,
    Project,
    is_denied,
    marker_at,
    named_folder,
    project_of,
)
from mash_plugin.config import Settings
from mash_plugin.privacy.credentials import pattern_faults

LISTS = {
    "everything": "deny",
    "capture": "no_capture",
    "recall": "no_recall",
    "index": "no_index",
}
"""What is off → the list under [projects] that says so."""


class Off(NamedTuple):
    """One thing that is off in a project."""

    what: str
    """everything, capture, recall or index."""
    why: str
    """The switch and the file that it stands in."""


def what_is_off(project: Project | None, settings: Settings) -> list[Off]:
    """Everything that lists in the settings and `.mash` files switch off in a project."""
    if project is None:
        return []
    found = []
    for what, name in LISTS.items():
        entries = getattr(settings, name)
        entry = next((entry for entry in entries if is_denied(project, (entry,))), None)
        if entry is not None:
            found.append(Off(what, f"[projects] {name} in {settings.file} names {entry}"))
    for root in dict.fromkeys((project.root, project.place)):
        off = marker_at(root)[0]
        why = f"{os.path.join(root, MARKER)} says so"
        found += [Off(what, why) for what in LISTS if what in off]
    return found


def why_unread(project: Project | None, settings: Settings) -> Off | None:
    """Why transcripts of a project are not read; None where they are."""
    found = what_is_off(project, settings)
    return next((off for off in found if off.what in ("everything", "index")), None)


def list_faults(settings: Settings) -> list[str]:
    """What in the lists of the settings has no effect.

    Entries that name a folder inside a project, for only whole projects can be switched off,
    and patterns that cannot be used.
    """
    faults = pattern_faults(settings.extra_patterns)
    for name in LISTS.values():
        for entry in getattr(settings, name):
            folder = named_folder(entry) if entry.startswith(("/", "~")) else None
            project = project_of(folder) if folder else None
            if project is not None and project.root != folder:
                fault = f"lies inside the project {project.root} and does nothing: name that one"
                faults.append(f"projects.{name}: {entry!r} {fault}")
    return faults


def marker_faults(project: Project | None) -> list[str]:
    """What in the `.mash` files of a project has no effect."""
    roots = dict.fromkeys((project.root, project.place)) if project else ()
    return [f"{os.path.join(r, MARKER)}: {fault}" for r in roots for fault in marker_at(r)[1]]
