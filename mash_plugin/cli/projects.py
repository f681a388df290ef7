"""`mash projects [PATH]`: what is switched off for a folder, and by which line of which file."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import click
import orjson

from mash_plugin.chats.project import Project, project_of
from mash_plugin.chats.switches import LISTS, list_faults, marker_faults, what_is_off
from mash_plugin.cli.publish import told_left
from mash_plugin.cli.tables import lines_of, print_table
from mash_plugin.cli.telling import tell
from mash_plugin.config import SWITCHES, Settings
from mash_plugin.daemon.kept_settings import settings_in_force
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.memory.masking import masking
from mash_plugin.paths import find_paths
from mash_plugin.render.text import clean

PARTS = {
    "index": "reading its chats",
    "capture": "saving",
    "recall": "recalling its records",
    "group": "publishing to the group",
}
_ON = {True: "on", False: "off"}


Json = dict[str, Any]


@click.command()
@click.argument("path", default=".", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def projects(path: str, as_json: bool) -> int:
    """Tell what mash does in a folder's project, and what is switched off there, and why.

    Switches are the lists under [projects] in the settings and a file .mash at the project's root,
    which can only switch off.
    """
    if not os.path.isdir(path):
        raise InvalidArgument(f"There is no folder {os.path.abspath(path)}.")
    switches = {name: os.environ[name] for name in SWITCHES if name in os.environ}
    settings = settings_in_force(find_paths(os.environ), switches)
    known = _told(os.path.abspath(path), settings) | {"left_in_folders": _left(path)}
    told = masking(settings).whole(known)
    if as_json:
        click.echo(orjson.dumps(told).decode())
    else:
        _show(told)
    return 0


def _told(folder: str, settings: Settings) -> Json:
    project = project_of(folder)
    problems = [settings.problem] if settings.problem else []
    problems += [*settings.warnings, *list_faults(settings), *marker_faults(project)]
    return {
        "folder": folder,
        "project": project.root if project else None,
        "memory": project.name if project else None,
        "parts": {
            part: {"is_on": not why, "why": why}
            for part, why in _why_off(project, settings).items()
        },
        "lists": {name: list(getattr(settings, name)) for name in LISTS.values()},
        "problems": problems,
    }


def _left(path: str) -> list[Json]:
    """What was saved in the project before it had a remote; nothing where no store can be read."""
    project, store = project_of(os.path.abspath(path)), find_paths(os.environ).store
    counts: dict[str, int] = {}
    if project is not None and project.identity is not None and os.path.exists(store):
        from mash_plugin.store.looking import looking_into
        from mash_plugin.store.rebind import scopes_below

        with suppress(MashError), looking_into(store) as db:
            counts = scopes_below(db, project.place)
    if not counts:
        return []
    from mash_plugin.memory.rebind import left_in_folders

    left = left_in_folders(counts)
    return [{"folder": folder, "records": count} for folder, count in left.items()]


def _why_off(project: Project | None, settings: Settings) -> dict[str, list[str]]:
    """Each part with every reason that it is off; it works where there is none."""
    found = what_is_off(project, settings)
    parts = [part for part in PARTS if part != "group" or settings.group_dsn_file is not None]
    why = {part: [off.why for off in found if off.what in (part, "everything")] for part in parts}
    if settings.group_publish == "nothing" and "group" in why:
        why["group"].append("[group] publish is nothing")
    if why["index"]:
        why["capture"].append("its chats are not read, so no quote can be checked")
    for part, is_on, name in (
        ("capture", settings.capture, "[records] enabled or capture, or MASH_RECORD_CAPTURE"),
        ("recall", settings.recall, "[records] recall, or MASH_RECORD_RECALL"),
    ):
        if not is_on:
            why[part].append(f"{name} is off for all projects")
    return why


def _show(told: Mapping[str, Any]) -> None:
    if told["project"] is None:
        folder = clean(told["folder"])
        click.echo(f"{folder} is no project: what you settle there is saved as personal.")
    else:
        click.echo(f"Project  {clean(told['project'])}")
        click.echo(f"Memory   {clean(told['memory'])}")
    rows = [
        (name, _ON[told["parts"][part]["is_on"]], lines_of(*told["parts"][part]["why"]))
        for part, name in PARTS.items()
        if part in told["parts"]
    ]
    print_table(rows, ("What", "", "Why"))
    for name, entries in told["lists"].items():
        for entry in entries:
            click.echo(clean(f"[projects] {name}: {entry}"))
    for one in told["left_in_folders"]:
        tell(told_left(one["folder"], one["records"]))
    for problem in told["problems"]:
        click.echo(clean(f"PROBLEM: {problem}"))
