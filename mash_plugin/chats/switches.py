"""What the person switched off for one project: by lists in the settings, or by a `.mash` file."""

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from mash_plugin.chats.project import Project, is_within, project_of, read_file
from mash_plugin.chats.remotes import normalise_remote
from mash_plugin.config import Settings, is_off, is_on
from mash_plugin.paths import passwd_home
from mash_plugin.privacy.credentials import pattern_faults

MARKER = ".mash"
MARKER_BYTES = 4_096
MARKER_SWITCHES = ("capture", "recall", "index", "group")
MARKER_FAULTS = 5
MARKER_FAULT_CHARS = 60
"""Lines of a repository's file are shown as far as a person needs to find them."""
LISTS = {
    "everything": "deny",
    "capture": "no_capture",
    "recall": "no_recall",
    "index": "no_index",
}
"""What is off → the list under [projects] that says so."""


def list_name(what: str) -> str:
    """The list of the settings that switches one thing off."""
    return "[group] never" if what == "group" else f"[projects] {LISTS[what]}"


def entries_of(what: str, settings: Settings) -> tuple[str, ...]:
    """The projects that this list names."""
    entries = settings.group_never if what == "group" else getattr(settings, LISTS[what])
    return tuple(entries)


class Off(NamedTuple):
    """One thing that is off in a project."""

    what: str
    """everything, capture, recall, index or group."""
    why: str
    """The switch and the file that it stands in."""


def is_denied(project: Project | None, deny: Iterable[str]) -> bool:
    """Whether a list of paths and identities in the settings names this project.

    A path names its folder and all below, by whole components; `host/owner/*` every repository
    there; nothing else is a pattern.
    """
    if project is None:
        return False
    for entry in deny:
        if entry.startswith(("/", "~")):
            folder = named_folder(entry)
            if any(is_within(root, folder) for root in project.roots):
                return True
        elif project.identity is not None and _names_identity(entry, project.identity):
            return True
    return False


def switched_off(project: Project | None) -> frozenset[str]:
    """What the `.mash` file of a project switches off; that of the main work tree counts too."""
    roots = project.roots if project else ()
    return frozenset(key for root in roots for key in marker_at(root)[0])


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
    found += _kept_back(project, settings)
    for root in project.roots:
        off = marker_at(root)[0]
        why = f"{os.path.join(root, MARKER)} says so"
        found += [Off(what, why) for what in MARKER_SWITCHES if what in off]
    # Nobody is told of groups who has none.
    return [off for off in found if off.what != "group" or settings.group_dsn_file is not None]


def _kept_back(project: Project, settings: Settings) -> list[Off]:
    """Why nothing of a project goes to the group, as far as the settings say."""
    never = next((e for e in settings.group_never if is_denied(project, (e,))), None)
    if never is not None:
        return [Off("group", f"[group] never in {settings.file} names {never}")]
    if settings.group_only and not is_denied(project, settings.group_only):
        return [Off("group", f"[group] only in {settings.file} names others alone")]
    return []


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
    lists = {f"projects.{name}": getattr(settings, name) for name in LISTS.values()}
    lists |= {"group.never": settings.group_never, "group.only": settings.group_only}
    for name, entries in lists.items():
        for entry in entries:
            folder = named_folder(entry) if entry.startswith(("/", "~")) else None
            project = project_of(folder) if folder else None
            if project is not None and project.root != folder:
                fault = f"lies inside the project {project.root} and does nothing: name that one"
                faults.append(f"{name}: {entry!r} {fault}")
    return faults


def marker_faults(project: Project | None) -> list[str]:
    """What in the `.mash` files of a project is not clear, and what it counts as."""
    roots = project.roots if project else ()
    return [f"{os.path.join(r, MARKER)}: {fault}" for r in roots for fault in marker_at(r)[1]]


def named_identity(entry: str) -> str | None:
    """The repository that `host/owner/name` or a URL means."""
    return normalise_remote(entry if ":" in entry else f"https://{entry}")


def named_folder(entry: str) -> str:
    """The folder that an entry with `/` or `~` in front means."""
    path = os.path.join(passwd_home(), entry[2:] if entry[:1] == "~" else entry)
    return os.path.realpath(path)


def marker_at(root: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """What the `.mash` file in a folder switches off, and what in it is not clear.

    One that cannot be read, is too long or is a link out of the folder switches everything off:
    nobody can tell what was meant to be left alone.
    """
    path = os.path.join(root, MARKER)
    try:
        if not os.path.isabs(root):
            return frozenset(), ()
        found = os.lstat(path)
    except (OSError, ValueError):
        return frozenset(), ()
    if stat.S_ISLNK(found.st_mode):
        real = os.path.realpath(path)
        if not is_within(real, os.path.realpath(root)):
            return _all_off("leads out of the project and is not followed")
        return _all_off("is a link to nothing") if not os.path.exists(real) else _marker(real)
    return _marker(path)


def read_marker(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """What a project's `.mash` file switches off, and which of its lines are not clear.

    Empty, or with a line `off`: all of capture, recall, index and group. Else lines `key = off`;
    `#` begins a comment, and no line can switch anything on. A line that is none of these
    switches everything off: nobody can tell what it was meant to keep private.
    """
    lines = [line.partition("#")[0].strip() for line in text.lstrip("\ufeff").splitlines()]
    lines = [line for line in lines if line]
    if not lines or any(is_off(line.strip("\"'")) for line in lines):
        return frozenset(MARKER_SWITCHES), ()
    off: set[str] = set()
    faults: list[str] = []
    for line in lines:
        name, equals, value = (part.strip().strip("\"'") for part in line.partition("="))
        key, shown = name.lower(), repr(line[:MARKER_FAULT_CHARS])
        if not equals or key not in MARKER_SWITCHES:
            off.update(MARKER_SWITCHES)
            known = ", ".join(("off", *(f"{name} = off" for name in MARKER_SWITCHES)))
            faults.append(f"{shown} is none of {known}, so everything counts as off")
        elif not is_on(value):
            off.add(key)
            if not is_off(value):
                faults.append(f"{shown} does not say on or off and counts as off")
    more = len(faults) - MARKER_FAULTS
    told = faults[:MARKER_FAULTS] + [f"{more} more lines like that"] * (more > 0)
    return frozenset(off), tuple(told)


def _marker(path: str) -> tuple[frozenset[str], tuple[str, ...]]:
    try:
        found = os.stat(path)
    except OSError:
        return _all_off("cannot be read")
    if not stat.S_ISREG(found.st_mode):
        return frozenset(), ()
    if found.st_size > MARKER_BYTES:
        return _all_off(f"is longer than {MARKER_BYTES:,} bytes")
    text = read_file(path, MARKER_BYTES)
    return _all_off("cannot be read") if text is None else read_marker(text)


def _all_off(fault: str) -> tuple[frozenset[str], tuple[str, ...]]:
    return frozenset(MARKER_SWITCHES), (f"it {fault}, so everything counts as off",)


def _names_identity(entry: str, identity: str) -> bool:
    """Whether an entry is the identity itself, as we show it, or one of its other spellings."""
    if not entry.endswith("/*"):
        return identity in (entry, named_identity(entry))
    if identity.startswith(entry[:-1]):
        return True
    # `x` stands for the name that a repository there has.
    owner = named_identity(f"{entry[:-1]}x")
    return owner is not None and identity.startswith(owner[:-1])
