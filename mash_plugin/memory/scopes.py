"""Scopes of requests, and whether a cited chat belongs to one (R-039 to R-041)."""

import os
from collections.abc import Sequence
from typing import Any

from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.project import shared_place
from mash_plugin.chats.reading import Chat, chat_of
from mash_plugin.errors import ChatNotFound, ScopeMismatch
from mash_plugin.records.model import NAME_OF_VALUE, Scope


def scope_of(request: dict[str, Any]) -> Scope:
    """The scope of a checked request; links in the path of an existing folder are resolved."""
    kind = request["kind"]
    value = request[NAME_OF_VALUE[kind]] if kind in NAME_OF_VALUE else ""
    return Scope(kind, real_folder(value) if kind == "local_project" else value)


def real_folder(path: str) -> str:
    """The real path of a folder that exists, else the path without its dots.

    Work trees of one repository share the path of the main one.
    """
    if not os.path.isdir(path):
        return os.path.normpath(path)
    return shared_place(os.path.realpath(path))


def known_chat(index: ChatIndex, chat_id: str) -> Chat:
    """The chat of that ID; raises ChatNotFound."""
    with index.database.reading() as db:
        chat = chat_of(db, chat_id)
    if chat is None:
        raise ChatNotFound(f"No chat {chat_id!r} in the index; see list_chats.")
    return chat


def chat_in_scope(scope: Scope, chats: Sequence[Chat]) -> Chat:
    """The first of a message's chats that the scope covers; raises ScopeMismatch."""
    for chat in chats:
        if _covers(scope, chat):
            return chat
    raise ScopeMismatch(_mismatch(scope, chats[0]))


def _covers(scope: Scope, chat: Chat) -> bool:
    match scope.kind:
        case "personal":
            return True
        case "repository":
            return chat.repository_identity == scope.value
        case "local_project":
            return chat.project_path is not None and real_folder(chat.project_path) == scope.value
        case "chat":
            return chat.id == scope.value


def _mismatch(scope: Scope, chat: Chat) -> str:
    if scope.kind == "repository":
        has = (
            f"repository {chat.repository_identity}"
            if chat.repository_identity
            else (f"no repository, but local_project {chat.project_path}")
        )
    elif scope.kind == "local_project":
        has = f"local_project {chat.project_path}"
    else:
        has = f"chat {chat.id}"
    return f"The cited chat {chat.id} does not belong to {scope.kind} {scope.value}: it has {has}."
