"""Take all chats of one project out of the memory: with the records that cite them, or alone."""

from typing import Any, NamedTuple

from mash_plugin.chats.forget import scrub_index
from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.switches import why_unread
from mash_plugin.errors import ChatNotFound, InvalidArgument
from mash_plugin.memory.call import Call
from mash_plugin.memory.denied import Denied
from mash_plugin.memory.forget_chat import finish_forgetting, remove_with_records, what_goes
from mash_plugin.store.chats import ForgettableChat, Held, chats_of_project, delete_chats, held_by

Json = dict[str, Any]


class Leaving(NamedTuple):
    """The chats of a project, with those of the agents that they started."""

    name: str
    """The path or the identity that was asked for."""
    project: Project | None
    chats: list[ForgettableChat]
    held: Held

    @property
    def chat_ids(self) -> list[str]:
        """Their IDs."""
        return [chat.id for chat in self.chats]

    @property
    def session_ids(self) -> list[str]:
        """Their sessions."""
        return [chat.session_id for chat in self.chats]


def find_leaving(call: Call, path: str | None, identity: str | None) -> Leaving:
    """The chats of a folder with all below it, or of a repository in all its clones.

    Raises ChatNotFound when the index has none.
    """
    with call.chats.database.reading() as db:
        chats = chats_of_project(db, path, identity)
        held = held_by(db, [chat.number for chat in chats])
    project = project_of(path) if path else Project("", identity)
    name = path or identity or ""
    if not chats:
        inside = project.root if project and path and project.root != path else None
        advice = f"it lies in the project {inside}: name that one" if inside else "see `mash chats`"
        raise ChatNotFound(f"The index has no chat of {name!r}; {advice}.")
    return Leaving(name, project, chats, held)


def preview(call: Call, leaving: Leaving) -> Json:
    """What would go now, credentials masked, and whether new chats would still be read."""
    return {
        "project": leaving.name,
        **what_goes(call, leaving.chats, leaving.held, leaving.chat_ids),
        "unread": _why_unread(call, leaving.project),
    }


def _why_unread(call: Call, project: Project | None) -> str | None:
    off = why_unread(project, call.settings)
    if off is not None:
        return off.why
    identity = project.identity if project and not project.root else None
    is_off = identity and Denied(call, "index").has_scope("repository", identity)
    return "all its clones are left out" if is_off else None


def forget_project(call: Call, leaving: Leaving) -> Json:
    """Remove the chats with every record that cites them; none comes back when they are read."""
    removed = preview(call, leaving)
    marked = [chat.id for chat in leaving.chats if "/" not in chat.session_id]
    records = remove_with_records(call, marked, leaving.chat_ids, leaving.session_ids)
    is_scrubbed = finish_forgetting(call)
    return removed | {"records": records, "forgotten": True, "is_scrubbed": is_scrubbed}


def drop_chats(call: Call, leaving: Leaving) -> Json:
    """Take the chats out of the index alone: records keep the text that they cite.

    Raises InvalidArgument where the next reading would bring them back.
    """
    removed = preview(call, leaving)
    if removed["unread"] is None:
        raise InvalidArgument(
            f"{leaving.name} is still read, so its chats would come back. Switch `index` off there"
            " first: with a file .mash, or with [projects] no_index in the settings."
        )
    with call.chats.database.writing(may_use_reserve=True) as db:
        delete_chats(db, [chat.number for chat in leaving.chats])
    scrubbed = scrub_index(call.chats.database)
    return removed | {"records": [], "checkpoints": 0, "forgotten": True, "is_scrubbed": scrubbed}
