"""Where the memory of another tool holds, as its place tells."""

import os

from mash_plugin.agents import AGENTS
from mash_plugin.chats.project import project_of
from mash_plugin.errors import InvalidArgument
from mash_plugin.memory.call import Call
from mash_plugin.records.model import Scope
from mash_plugin.store.queries import load
from mash_plugin.transfer.items import is_text

PROJECT_FOLDERS = tuple(agent.HOME_FOLDER for agent in AGENTS.values())
"""Where a project keeps what is for one agent alone: named as that agent's own folder."""
_SQL = load("transfer")


def scope_of_place(call: Call, source: str, path: str) -> Scope:
    """The scope of what lies at that path. Raises InvalidArgument where none can be told."""
    match source:
        case "claude-memory":
            found = _scope_of_memory(call, path)
        case "rules":
            found = _scope_of_rules(call, path)
        case _:
            found = None
    if found is None:
        raise InvalidArgument(
            f"Of which project {path} is cannot be told: add --scope project:FOLDER,"
            " --scope repository:IDENTITY or --scope personal. Nothing was imported."
        )
    return found


def _scope_of_memory(call: Call, path: str) -> Scope | None:
    """Its name is a path with its signs lost; the transcripts beside it tell the path itself."""
    folder = os.path.dirname(path.rstrip("/")) + "/"
    if not is_text(folder):  # nothing of it is in the index
        return None
    with call.chats.database.reading() as db:
        row = db.one(_SQL.project_of_folder, {"folder": folder})
    if row is None:
        return None
    identity, place = row
    return Scope("repository", identity) if identity else Scope("local_project", place)


def _scope_of_rules(call: Call, path: str) -> Scope | None:
    folder = os.path.dirname(path)
    if call.chats.is_agents_folder(folder):
        return Scope("personal")
    if os.path.basename(folder) in PROJECT_FOLDERS:
        folder = os.path.dirname(folder)
    project = project_of(folder)
    return project.scope if project else None
