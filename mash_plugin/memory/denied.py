"""What the person left out by `[projects] deny`: the tools show, find and save nothing of it."""

import os
from collections.abc import Iterable
from itertools import chain
from typing import Literal

from mash_plugin.chats.project import Project, project_at, project_of
from mash_plugin.chats.reading import Chat, chat_of, places_of
from mash_plugin.chats.switches import (
    entries_of,
    is_denied,
    list_name,
    named_folder,
    switched_off,
    what_is_off,
    why_unread,
)
from mash_plugin.config import Settings
from mash_plugin.errors import RecordsDisabled
from mash_plugin.memory.call import Call
from mash_plugin.records.model import Scope
from mash_plugin.store.records import Head

Switch = Literal["capture", "recall", "index", "group"]
_MEANS: dict[Switch | None, str] = {
    None: "nothing of it is shown or saved. Nothing was deleted either; only the person should"
    " change that list.",
    "capture": "nothing of it is saved. Only the person should change that.",
    "recall": "no record of it is recalled. Only the person should change that.",
    "index": "its chats are not read, and what was read before is neither shown nor cited. Only the"
    " person should change that; `mash forget-project` removes what was read.",
    "group": "nothing of it is published to the group. Only the person should change that.",
}


class Denied:
    """Tells for one call which scopes and chats are left out; costs nothing without a list.

    Of everything, or of one thing that lists in the settings and `.mash` files can switch off.
    """

    def __init__(self, call: Call, what: Switch | None = None) -> None:
        self._call = call
        self._what = what
        self._entries = call.settings.deny
        if what is not None:
            self._entries += entries_of(what, call.settings)
        self._only = call.settings.group_only if what == "group" else ()
        self._known: dict[tuple[str, str], bool] = {}

    def has_scope(self, kind: str, value: str) -> bool:
        """Whether a scope belongs to a project that is left out."""
        if kind == "personal" or self._is_nothing_off:
            return False
        key = (kind, value)
        if key not in self._known:
            self._known[key] = self._has_scope(kind, value)
        return self._known[key]

    def has_record(self, head: Head) -> bool:
        """Whether a record belongs to a project that is left out."""
        return self.has_scope(head.scope_kind, head.scope_value)

    def has_chat(self, chat: Chat) -> bool:
        """Whether a chat took place in a project that is left out."""
        if self._is_nothing_off:
            return False
        path, identity = chat.project_path or "", chat.repository_identity
        key = ("chat at", f"{path}\n{identity}")
        if key not in self._known:
            place = chat.project
            is_off = self._has_project(place) or not self._is_chosen(place)
            self._known[key] = is_off or (identity is not None and self._has_identity(identity))
        return self._known[key]

    def has_chat_id(self, chat_id: str) -> bool:
        """The same for a chat by its ID; an unknown one is left out of publication alone."""
        if self._is_nothing_off:
            return False
        with self._call.chats.database.reading() as db:
            chat = chat_of(db, chat_id)
        return self._what == "group" if chat is None else self.has_chat(chat)

    def refuse_scope(self, scope: Scope) -> None:
        """Raise RecordsDisabled for a scope that is left out."""
        if self.has_scope(scope.kind, scope.value):
            raise self.refusal(f"{scope.kind} {scope.value}")

    def refuse_record(self, head: Head) -> None:
        """Raise RecordsDisabled for a record that is left out."""
        if self.has_record(head):
            raise self.refusal(f"record {head.id}")

    def refuse_chat(self, chat: Chat) -> None:
        """Raise RecordsDisabled for a chat that is left out."""
        if self.has_chat(chat):
            raise self.refusal(f"chat {chat.id}", chat.project)

    def refusal(self, what: str, place: Project | None = None) -> RecordsDisabled:
        """What to answer for a record, a chat or a scope that is left out."""
        settings = self._call.settings
        where = f"[projects] deny in {settings.file}"
        why = [off.why for off in what_is_off(place, settings) if off.what == self._what]
        if why:
            where = f"the settings ({why[0]})"
        elif self._what is not None:
            where = f"{list_name(self._what)} or [projects] deny in {settings.file},"
            where += " or by a .mash file of that project"
        return RecordsDisabled(f"The {what} is left out by {where}: {_MEANS[self._what]}")

    @property
    def _is_nothing_off(self) -> bool:
        return not self._entries and self._what is None

    def _has_scope(self, kind: str, value: str) -> bool:
        if kind == "repository":
            return self._has_identity(value)
        if kind == "local_project":
            return self._has_project(project_at(value)) or self._has_project(project_of(value))
        return self.has_chat_id(value)

    def _has_project(self, project: Project | None) -> bool:
        if is_denied(project, self._entries):
            return True
        return self._what is not None and self._what in switched_off(project)

    def _has_identity(self, identity: str) -> bool:
        """Whether a repository is named, or its clones are left out and none is left."""
        key = ("repository", identity)
        if key not in self._known:
            place = Project("", identity)
            is_named = is_denied(place, self._entries) or not self._is_chosen(place)
            self._known[key] = is_named or self._has_all_clones(identity)
        return self._known[key]

    def _is_chosen(self, place: Project) -> bool:
        """Whether it is among those that alone take part; all do where none is named."""
        if not self._only or is_denied(place, self._only):
            return True
        folders = [named_folder(entry) for entry in self._only if entry.startswith(("/", "~"))]
        projects = map(project_of, folders)
        return place.identity is not None and place.identity in {p.identity for p in projects if p}

    def _has_all_clones(self, identity: str) -> bool:
        paths = [entry for entry in self._entries if entry.startswith(("/", "~"))]
        if not paths and self._what is None:
            return False
        projects = [project_of(named_folder(path)) for path in paths]
        named = [p.root for p in projects if p and p.identity == identity]
        seen: set[str] = set()
        is_left_out = False
        with self._call.chats.database.reading() as db:
            for place in chain(named, places_of(db, identity)):
                if place in seen:
                    continue
                seen.add(place)
                if self._has_project(project_at(place)):
                    is_left_out = True
                    if self._what == "group":  # what is said once is known to all
                        return True
                elif self._what != "group" and os.path.isdir(place):  # nearly always the first one
                    return False
        return is_left_out


def refuse_source(call: Call, chat: Chat) -> None:
    """Raise RecordsDisabled where nothing that was said in a chat may be cited."""
    Denied(call).refuse_chat(chat)
    Denied(call, "index").refuse_chat(chat)


def refuse_saving(call: Call, scope: Scope, chat_ids: Iterable[str]) -> None:
    """Raise RecordsDisabled where nothing may be saved in a scope, or of what these chats say."""
    denied = Denied(call, "capture")
    denied.refuse_scope(scope)
    for chat_id in chat_ids:
        if denied.has_chat_id(chat_id):
            raise denied.refusal(f"chat {chat_id}")


def refuse_unread(settings: Settings, project: Project | None) -> None:
    """Raise RecordsDisabled where a project's transcripts are not read: nothing can be cited."""
    off = why_unread(project, settings)
    if project is not None and off is not None:
        raise RecordsDisabled(
            f"Transcripts of {project.root} are not read ({off.why}), so nothing said there can be"
            " cited and nothing can be saved from there. Only the person should change that."
        )
