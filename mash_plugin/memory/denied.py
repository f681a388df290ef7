"""What the person left out by `[projects] deny`: the tools show, find and save nothing of it."""

import os
from functools import cached_property

from mash_plugin.chats.project import Project, is_denied, named_folder, project_of, shared_place
from mash_plugin.chats.reading import Chat, chat_of, project_places
from mash_plugin.chats.switches import why_unread
from mash_plugin.config import Settings
from mash_plugin.errors import RecordsDisabled
from mash_plugin.memory.call import Call
from mash_plugin.records.model import Scope


class Denied:
    """Tells for one call which scopes and chats are left out; costs nothing without a list."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._deny = call.settings.deny

    def has_scope(self, kind: str, value: str) -> bool:
        """Whether a scope belongs to a project that is left out."""
        if not self._deny or kind == "personal":
            return False
        if kind == "repository":
            return self._has_identity(value)
        if kind == "local_project":
            return is_denied(_at(value), self._deny) or is_denied(project_of(value), self._deny)
        return self.has_chat_id(value)

    def has_chat(self, chat: Chat) -> bool:
        """Whether a chat took place in a project that is left out."""
        if not self._deny:
            return False
        if is_denied(_at(chat.project_path or "", chat.repository_identity), self._deny):
            return True
        return chat.repository_identity is not None and self._has_identity(chat.repository_identity)

    def has_chat_id(self, chat_id: str) -> bool:
        """The same for a chat by its ID; an unknown one is not left out."""
        if not self._deny:
            return False
        with self._call.chats.database.reading() as db:
            chat = chat_of(db, chat_id)
        return chat is not None and self.has_chat(chat)

    def refuse_scope(self, scope: Scope) -> None:
        """Raise RecordsDisabled for a scope that is left out."""
        if self.has_scope(scope.kind, scope.value):
            raise self.refusal(f"{scope.kind} {scope.value}")

    def refuse_chat(self, chat: Chat) -> None:
        """Raise RecordsDisabled for a chat that is left out."""
        if self.has_chat(chat):
            raise self.refusal(f"chat {chat.id}")

    def refusal(self, what: str) -> RecordsDisabled:
        """What to answer for a record, a chat or a scope that is left out."""
        return RecordsDisabled(
            f"The {what} is left out by [projects] deny in {self._call.settings.file}: nothing of"
            " it is shown or saved. Nothing was deleted either; only the person should change"
            " that list."
        )

    def _has_identity(self, identity: str) -> bool:
        return is_denied(Project("", identity), self._deny) or identity in self._by_path

    @cached_property
    def _by_path(self) -> frozenset[str]:
        """Repositories whose clones lie in folders that are left out, and nowhere else."""
        paths = [entry for entry in self._deny if entry.startswith(("/", "~"))]
        if not paths:
            return frozenset()
        with self._call.chats.database.reading() as db:
            places = project_places(db)
        projects = [project_of(named_folder(path)) for path in paths]
        places += [(p.root, p.identity) for p in projects if p and p.identity]
        denied, allowed = set(), set()
        for path, identity in places:
            if is_denied(_at(path), paths):
                denied.add(identity)
            elif os.path.isdir(path):
                allowed.add(identity)
        return frozenset(denied - allowed)


def _at(path: str, identity: str | None = None) -> Project:
    """What is known of a folder that may be gone by now."""
    return Project(path, identity, shared_place(path) if path else None)


def refuse_unread(settings: Settings, project: Project | None) -> None:
    """Raise RecordsDisabled where a project's transcripts are not read: nothing can be cited."""
    off = why_unread(project, settings)
    if project is not None and off is not None:
        raise RecordsDisabled(
            f"Transcripts of {project.root} are not read ({off.why}), so nothing said there can be"
            " cited and nothing can be saved from there. Only the person should change that."
        )
