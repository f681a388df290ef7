"""The parts of a hook's text: records and earlier chats, each in a lane of its own."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.project import Project, may_have_upstream
from mash_plugin.chats.reading import Chat, messages_newest_first, recent_chats
from mash_plugin.chats.switches import is_denied, switched_off
from mash_plugin.daemon.lanes import Lane, Part
from mash_plugin.memory.call import Call
from mash_plugin.memory.masking import masking
from mash_plugin.memory.recall import Ask, recall_for_hook
from mash_plugin.records.model import Scope
from mash_plugin.render.context import ChatHint, Elsewhere, FromGroup
from mash_plugin.store.records import out_of_force_since

RECORDS = 3
PERSONAL = 2
ENDED = 10
PERSONAL_SCOPE = Scope("personal").as_json()
CHATS = 3
SELECT_LIMIT = 20
SELECT_BYTES = 32_768
LOOK_BACK = 30
"""Messages, most of them of tools, behind which an agent's words are no offer any more."""
WINDOW = 256
WINDOW_BYTES = 1 << 20
"""Statements are cut when they are shown, so that the budget of the text counts the cut line."""

_records_lane = Lane("records")
_chats_lane = Lane("chats")
_elsewhere_lane = Lane("elsewhere")
"""Their store may be a server that hangs: nothing else waits for it."""

Records = list[dict[str, Any]]
Branch = Callable[[], tuple[str, ...]]
"""Tells the files that the branch changes, within its own time limit."""


class Changed(NamedTuple):
    """What a session that goes on does not know yet."""

    records: Records
    ended: Sequence[str] = ()
    """IDs of records that it was shown and that hold no more, the last one first."""


def pause_targets(project: Project | None, session_id: str | None) -> tuple[str, ...]:
    """The names under which a person may have paused this session or its project."""
    names = [f"session:{session_id}"] if session_id else []
    if project is not None:
        names += [f"project:{name}" for name in (project.identity, project.place) if name]
    return tuple(names)


def path_in_project(project: Project, file: str) -> str | None:
    """The file's path below the project's root; None outside it and through a symbolic link."""
    real, plain = os.path.realpath(file), os.path.normpath(file)
    root = project.root.rstrip("/") + "/"
    if not real.startswith(root):
        return None
    path = real[len(root) :]
    return path if path and plain.endswith("/" + path) else None


def find(records: Sequence[Part[Any]], chats: Part[Any] | None, patience_until: float) -> None:
    """Begin with these parts: in one thread, in their order, which is quickest for both.

    Where the records take until `patience_until`, or something hangs already, the chats go
    their own way.
    """
    if chats is None or not (_records_lane.is_free and _chats_lane.is_free):
        if records:
            _records_lane.begin(*records)
        if chats is not None:
            _chats_lane.begin(chats)
        return
    _records_lane.begin(*records, chats)
    chats.wait(patience_until)
    if not chats.is_begun:
        _chats_lane.begin(chats)


def is_late(part: Part[Any] | None) -> bool:
    """Whether this part was wanted and has not been done in time."""
    return part is not None and not part.is_done


def branch_of(project: Project | None, on_failure: Callable[[str], None]) -> Branch:
    """What tells the files that the project's branch changes; git is not asked before."""

    def files() -> tuple[str, ...]:
        if project is None or not may_have_upstream(project.root):
            return ()
        from mash_plugin.daemon import branch  # few projects of a first answer need it

        until = time.monotonic() + branch.LIMIT_S
        return branch.BRANCHES.ask(project.root, on_failure).value(until) or ()

    return files


def start_ask(project: Project | None, branch: Branch) -> Ask:
    """What the start of a session asks for."""
    scopes = project.scopes if project else []
    return Ask(scopes, RECORDS, SELECT_BYTES, is_hook=True, branch=branch)


def file_ask(project: Project, path: str) -> Ask:
    """What a read of this file asks for."""
    return Ask(project.scopes, RECORDS, SELECT_BYTES, is_hook=True, file=path)


def project_records(call: Call, project: Project | None, branch: Branch) -> Part[Records]:
    """The project's records, what its branch is about first."""
    ask = start_ask(project, branch)
    return Part(lambda: recall_for_hook(call, ask) if ask.scopes else [])


def changed_records(
    call: Call, project: Project | None, since: int, branch: Branch, told: frozenset[str]
) -> Part[Changed]:
    """The project's records that were saved after `since`, and what of those told ended."""
    ask = start_ask(project, branch)._replace(since=since + 1, told=told)

    def work() -> Changed:
        records = recall_for_hook(call, ask) if ask.scopes else []
        if not told:
            return Changed(records)
        with call.store.reading() as db:
            ended = out_of_force_since(db, told, since + 1, call.now, ENDED)
        return Changed(records, ended)

    return Part(work)


def personal_records(call: Call) -> Part[Records]:
    """Established preferences of the person, where they were asked for."""
    return Part(lambda: personal_preferences(call))


def personal_preferences(call: Call) -> Records:
    """As many as a start has room for."""
    ask = Ask([Scope("personal")], SELECT_LIMIT, SELECT_BYTES, is_hook=True)
    return _preferences(recall_for_hook(call, ask), PERSONAL)


def group_records(call: Call, project: Project | None) -> Part[FromGroup]:
    """What others of the group established in this very repository, as it was last fetched."""

    def work() -> FromGroup:
        if project is None or project.identity is None:
            return FromGroup()
        from mash_plugin.memory.group import group_for_hook  # most have no group

        found, read_at = group_for_hook(call, project.identity)
        return FromGroup(found, call.now - read_at)

    return Part(work)


def project_preferences(call: Call, project: Project | None) -> Part[Records]:
    """Established preferences of the project, for its subagents."""

    def work() -> Records:
        if project is None:
            return []
        # All that recall looks through: its first places may be taken by decisions.
        ask = Ask(project.scopes, WINDOW, WINDOW_BYTES, is_hook=True)
        return _preferences(recall_for_hook(call, ask), RECORDS)

    return Part(work)


def file_records(
    call: Call, project: Project, since: Mapping[str, int | None]
) -> Part[dict[str, Records]]:
    """The records that name these files; with a time only those that came since."""

    def work() -> dict[str, Records]:
        asks = {path: file_ask(project, path)._replace(since=at) for path, at in since.items()}
        return {path: recall_for_hook(call, ask) for path, ask in asks.items()}

    return Part(work)


def project_chats(call: Call, project: Project | None, session_id: str) -> Part[list[ChatHint]]:
    """The project's recent chats."""

    def work() -> list[ChatHint]:
        if project is None:
            return []
        with call.chats.database.reading() as db:
            found = recent_chats(db, project, CHATS, session_id, call.now)
        return _hints(call, found)

    return Part(work)


def elsewhere(call: Call, project: Project | None, session_id: str) -> Part[list[Elsewhere]]:
    """What happened in other sessions of the project of late; begun at once."""

    def work() -> list[Elsewhere]:
        if project is None:
            return []
        from mash_plugin.agents import AGENTS  # and nothing of it where it is not wanted
        from mash_plugin.throughline.bridge import channel_of, happened_elsewhere
        from mash_plugin.throughline.settings import configured_agent

        target = configured_agent(call.settings.file)
        if target is None:
            return []
        channels = [channel_of(name, project.name) for name in AGENTS]
        found = happened_elsewhere(*target, channels, session_id, call.now)
        return [Elsewhere(one.at, one.channel.partition(":")[0], one.text) for one in found]

    return _elsewhere_lane.start(work)


def file_chats(
    call: Call, project: Project, paths: Sequence[str], session_id: str
) -> Part[dict[str, list[ChatHint]]]:
    """Earlier chats that mention these files."""

    def work() -> dict[str, list[ChatHint]]:
        found = {p: call.chats.mentions.chats(project, p, CHATS, session_id) for p in paths}
        return {path: _hints(call, chats) for path, chats in found.items()}

    return Part(work)


def last_said(call: Call, agent: str, session_id: str) -> Part[str]:
    """The newest words of the agent in this session, as far as its transcript has been read."""

    def work() -> str:
        with call.chats.database.reading() as db:
            newest = messages_newest_first(db, chat_id(agent, session_id))
            said = (m.text for m in islice(newest, LOOK_BACK) if m.author == "agent")
            return next((text for text in said if text.strip()), "")

    return Part(work)


def _preferences(found: Records, most: int) -> Records:
    """The first preferences that are in force."""
    return [r for r in found if r["kind"] == "preference" and r["status"] == "current"][:most]


def _hints(call: Call, chats: list[Chat]) -> list[ChatHint]:
    """Without those of a clone that the person left out, or whose chats are not to be read."""
    unread = (*call.settings.deny, *call.settings.no_index)
    chats = [chat for chat in chats if not _is_left_out(chat.project, unread)]
    shown = masking(call.settings).needed_for([chat.title or "" for chat in chats])
    return [ChatHint(c.id, shown(c.title or ""), c.last_active_at) for c in chats]


def _is_left_out(project: Project, unread: tuple[str, ...]) -> bool:
    return is_denied(project, unread) or "index" in switched_off(project)
