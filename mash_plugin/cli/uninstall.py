"""`mash uninstall`: the agents as they were; the memory stays unless told otherwise."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from mash_plugin.agents.plugin import PLUGIN_ID
from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.cli.left_running import left_running
from mash_plugin.cli.removal import (
    InAgent,
    command_links,
    completions,
    find_in_agents,
    foreign_files,
    memory_files,
    program_folders,
    remove_files,
    remove_from_agent,
    remove_program,
)
from mash_plugin.cli.stopping import free_store
from mash_plugin.cli.telling import tell
from mash_plugin.config import read_settings, read_tables
from mash_plugin.errors import MashError
from mash_plugin.paths import Paths, find_paths


@click.command()
@click.option("--data", is_flag=True, help="Remove the memory, its backups and settings too.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(data: bool, dry_run: bool, yes: bool) -> int:
    """Take mash out of every agent; keep the memory unless --data is given.

    Where nothing else has changed, the agents' settings are byte for byte what they were before;
    else only the entries of mash go. What mash did not make is not touched.
    """
    from mash_plugin.connecting import refuse_sandbox

    paths = find_paths(os.environ)
    refuse_sandbox()
    if data and not dry_run:
        refuse_in_session("--data removes your memory for good")
    agents = find_in_agents(paths)
    if dry_run or not yes:
        _tell_plan(paths, agents, data=data)
    if data:
        _tell_published(paths)
        _tell_workspace(paths)
    if dry_run:
        tell("Nothing was changed.")
        return 0
    if not yes:
        _ask(paths, data=data)
    had_program = bool(command_links(paths) or program_folders(paths) or completions())
    removed = _leave_agents(paths, agents)
    if removed is None:
        # The folder stays: an agent whose settings still name it would fail to load it.
        tell("mash: the rest was left as it is; run `mash uninstall` again then.", err=True)
        return 1
    free_store(paths)
    _tell_left(removed, had_program=had_program)
    if data:
        _remove_data(paths)
    else:
        _tell_what_stays(paths)
    _remove_program(paths)  # last of all: this very program may be running from there
    for line in left_running(paths):
        tell(f"Still running: {line}.")
    return 0


def _leave_agents(paths: Paths, agents: list[InAgent]) -> list[str] | None:
    """The titles of those that had the plugin; None when one could not be left."""
    has_failed, removed = False, []
    for one in agents:
        if not one.is_ours:
            _tell_foreign(one)
            continue
        tell(f"{one.host.TITLE}: removing the plugin ...", err=True)
        try:
            if remove_from_agent(paths, one):
                removed.append(one.host.TITLE)
                tell(f"{one.host.TITLE}: plugin removed from {one.place.config}")
        except (MashError, OSError, ValueError) as error:
            has_failed = True
            text = error.message if isinstance(error, MashError) else f"{error}"
            tell(f"mash: {one.host.TITLE}: {text}", err=True)
    return None if has_failed else removed


def _tell_left(removed: list[str], *, had_program: bool) -> None:
    if removed:
        titles = " and ".join(dict.fromkeys(removed))
        tell(
            f"Restart {titles}: what is open now works on, but may tell at each prompt that a hook"
            " failed and the plugin's folder is gone, until it is ended."
        )
    elif not had_program:
        tell("Nothing of mash is left in any agent, nor of its program.")
    else:
        tell("mash was set up in no agent.")


def _tell_foreign(one: InAgent) -> None:
    command = one.host.remove_command(PLUGIN_ID)
    tell(
        f"{one.host.TITLE}: a plugin named mash from elsewhere is in {one.settings_file}; it was"
        f" left alone. To remove it: {command}"
    )


def _tell_plan(paths: Paths, agents: list[InAgent], *, data: bool) -> None:
    lines = list(_plan(paths, agents, data=data))
    if not lines:
        tell("Nothing of mash is left here.")
        return
    tell("This would go:")
    for line in lines:
        tell(f"  - {line}")


def _tell_published(paths: Paths) -> None:
    """Warn of what nobody can take back from here once the login is gone."""
    if read_settings(paths.config_file, {}).group_dsn_file is not None:
        tell(
            "What this machine published to its group stays there: to withdraw it, run"
            " `mash group leave` before, or ask whoever runs the group."
        )


def _tell_workspace(paths: Paths) -> None:
    """Name the memory of Throughline, which lies in a folder that the person chose."""
    tables, _ = read_tables(paths.config_file)
    table = (tables or {}).get("throughline")
    workspace = table.get("workspace") if isinstance(table, dict) else None
    if workspace:
        tell(
            f"The Throughline workspace {workspace} stays, as does every other folder that"
            " `meaning-memory` was given: delete them yourself."
        )


def _plan(paths: Paths, agents: list[InAgent], *, data: bool) -> Iterator[str]:
    for one in agents:
        if one.is_ours:
            what = "its plugin, marketplace, rule and the trust of its hooks"
            yield f"{what} in {one.host.TITLE} ({one.settings_file})"
    if os.path.exists(paths.socket):
        yield "the running daemon"
    for link in command_links(paths):
        yield f"the command {link}"
    for file in completions():
        yield f"the completion {file}"
    for folder in program_folders(paths):
        yield f"the program: {folder}"
    for file in memory_files(paths) if data else ():
        yield f"MEMORY: {file}"


def _ask(paths: Paths, *, data: bool) -> None:
    what = f" and ALL MEMORY in {paths.data}, backups included" if data else ""
    require_yes(
        f"Remove mash from the agents{what}?",
        "uninstall asks first, and this is no terminal: add --yes.",
    )


def _remove_program(paths: Paths) -> None:
    links, files = command_links(paths), completions()
    has_folders = bool(program_folders(paths))
    if has_folders:
        tell("Removing the program, which takes some seconds ...")
    remove_program(paths)
    for file in files:
        tell(f"Removed the completion {file}.")
    for link in links:
        tell(f"Removed the command {link}.")
    if has_folders:
        tell("Removed.")


def _tell_what_stays(paths: Paths) -> None:
    mine = _own_places(paths)
    if not mine:
        tell("There is no memory here.")
        return
    tell(f"Your memory and settings stay: {', '.join(mine)}.")
    tell("scripts/install uses them again; to remove them for good:")
    click.echo(f"  rm -r {shlex.join(mine)}")


def _own_places(paths: Paths) -> list[str]:
    """Every place of memory, settings and runtime files that exists."""
    files = memory_files(paths)
    if paths.home is not None:
        return [paths.home] if files else []
    in_data = any(file.parent == Path(paths.data) for file in files)
    places = [paths.data] if in_data else []
    return places + [str(file) for file in files if file.parent != Path(paths.data)]


def _remove_data(paths: Paths) -> None:
    files = memory_files(paths)
    remove_files(files)
    is_memory = any(file.name.startswith("records.db") for file in files)
    gone = [f"the memory in {paths.data}"] * is_memory
    gone += [paths.config_file] * (Path(paths.config_file) in files)
    tell(f"Removed {' and '.join(gone)}." if gone else "There was no memory to remove.")
    for file in foreign_files(paths):
        tell(f"Left alone, since mash did not make it: {file}")
