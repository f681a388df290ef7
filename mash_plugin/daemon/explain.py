"""What a hook or a tool would recall in a folder now, with the reasons; nothing counts as shown."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.switches import switched_off, what_is_off
from mash_plugin.daemon import hook_parts as parts
from mash_plugin.daemon.frames import some_text
from mash_plugin.errors import InvalidArgument
from mash_plugin.memory.call import Call
from mash_plugin.memory.recall import Ask
from mash_plugin.render import context

if TYPE_CHECKING:
    from mash_plugin.daemon.requests import Requests

TOOL_LIMIT, TOOL_BYTES = 8, 6_000
Json = dict[str, Any]


def explain_recall(requests: "Requests", params: Mapping[str, Any]) -> Json:
    """What is recalled at a session's start, with a file, or for a query.

    Raises InvalidArgument outside a project and for a file that is not in it, RecordsDisabled
    where the person left the project out.
    """
    from mash_plugin.memory.denied import Denied
    from mash_plugin.memory.explain import explain_recall as explain

    node = requests.open_node()
    call = node.own_call()
    cwd = some_text(params, "cwd") or ""
    project = project_of(cwd)
    if project is None:
        what = "nothing but personal preferences" if call.settings.personal_at_start else "nothing"
        raise InvalidArgument(f"{cwd[:200]} is no project: {what} is recalled there.")
    for scope in project.scopes:
        Denied(call).refuse_scope(scope)
    file, query = _file(project, cwd, some_text(params, "file")), some_text(params, "query")
    ask, branch = _ask(project, file, query)
    told = explain(call, ask)
    if ask.is_hook:
        _mark_cut_lines(told["records"], file)
    return {
        "like": "recall_records" if query else "file-read" if file else "session-start",
        "project": project.name,
        "file": file,
        "query": query,
        "branch_files": branch,
        "personal": _personal(call) if ask.is_hook and file is None else None,
        "off": _off(call, project, is_file=ask.is_hook and file is not None),
        "group": None if file else _of_group(call, project, ask, params.get("group") is True),
        **told,
    }


def _ask(project: Project, file: str | None, query: str | None) -> tuple[Ask, list[str]]:
    """The same request as a hook or an agent makes, and where the branch's files will stand."""
    from mash_plugin.tokens import significant

    changed: list[str] = []
    if query:
        terms = significant(query)
        return Ask(project.scopes, TOOL_LIMIT, TOOL_BYTES, terms=terms, file=file), changed
    if file:
        return parts.file_ask(project, file), changed
    branch = parts.branch_of(project, lambda _: None)

    def noted() -> tuple[str, ...]:
        changed.extend(branch())
        return tuple(changed)

    return parts.start_ask(project, noted), changed


def _of_group(call: Call, project: Project, ask: Ask, is_asked: bool) -> Json | None:
    """What others established, where an agent is told of it; a tool tells only who asks."""
    is_off = call.group is None or "group" in switched_off(project)
    if project.identity is None or (is_off if ask.is_hook else not is_asked):
        return None
    from mash_plugin.memory.group import filled, group_for_hook, group_part

    if ask.is_hook:
        items, read_at = group_for_hook(call, project.identity)
        return {"records": items, "read_at": read_at, "now": call.now} if items else None
    part, items = group_part(call, project.identity, ask.terms, None)
    return {**filled(part, items, TOOL_BYTES), "now": call.now}


def _personal(call: Call) -> Json:
    """The preferences for all projects that a start adds, and whether it may."""
    found = parts.personal_preferences(call)
    text = context.session_start([], found, [], "", "")
    shown = [one for one in found if one["id"] in text]
    return {"records": shown, "is_shown": call.settings.personal_at_start}


def _mark_cut_lines(records: list[Json], file: str | None) -> None:
    """The hook's text has a limit of its own: what does not stand in it is not shown."""
    shown = [one for one in records if one["outcome"] == "shown"]
    text = (
        context.file_read(file, shown, [], "")
        if file
        else context.session_start(shown, [], [], "", "")
    )
    for one in shown:
        if one["id"] not in text:
            one["outcome"] = "budget"


def _file(project: Project, cwd: str, file: str | None) -> str | None:
    if file is None:
        return None
    path = parts.path_in_project(project, os.path.join(cwd, file))
    if path is None:
        raise InvalidArgument(
            f"{file[:200]} is no file below {project.root}, or a link leads there: no record is"
            " shown with it."
        )
    return path


def _off(call: Call, project: Project, is_file: bool) -> list[str]:
    """Why hooks would show none of this now."""
    settings = call.settings
    off = [
        one.why for one in what_is_off(project, settings) if one.what in ("everything", "recall")
    ]
    if not settings.recall:
        off.append("[records] recall is off")
    if is_file and not settings.file_recall:
        off.append("[recall] files is off")
    return off
