"""`mash uninstall`: the agents as they were; the memory stays unless told otherwise."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import click

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import Place, remove_if_empty
from mash_plugin.cli.memo import drop_memo, memo_of, read_memos
from mash_plugin.cli.stopping import stop_daemon
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.paths import Paths, find_paths, pin_file


@click.command()
@click.option("--data", is_flag=True, help="Remove the memory, its backups and settings too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(data: bool, yes: bool) -> int:
    """Take mash out of every agent; keep the memory unless --data is given."""
    paths = find_paths(os.environ)
    if not yes:
        _ask(paths, data)
    has_failed = False
    for host, place in _places(paths):
        try:
            _remove_from(paths, host, place)
        except MashError as error:
            has_failed = True
            click.echo(f"mash: {host.TITLE}: {error.message}", err=True)
    if has_failed:
        # The folder stays: an agent whose settings still name it would fail to load it.
        return 1
    stop_daemon(paths)
    shutil.rmtree(paths.marketplace, ignore_errors=True)
    click.echo("Restart the agents, so that they forget the plugin.")
    if data:
        _remove_data(paths)
    else:
        click.echo(f"Your memory is still in {paths.data}: delete that folder to remove it,")
        click.echo("or run scripts/install again to use it.")
    # Last of all: this very program may be running from there.
    _remove_program(paths)
    return 0


def _ask(paths: Paths, data: bool) -> None:
    if not sys.stdin.isatty():
        raise InvalidArgument("uninstall asks first, and this is no terminal: add --yes.")
    what = f" and ALL MEMORY in {paths.data}, backups included" if data else ""
    if not click.confirm(f"Remove mash from the agents{what}?", default=False, err=True):
        raise click.Abort


def _places(paths: Paths) -> list[tuple[Host, Place]]:
    """Where mash was installed, and where it may be: this environment's own places."""
    places = []
    for host in HOSTS:
        here = host.find_place(os.environ)
        noted = [
            replace(here, config=Path(memo.config))
            for memo in read_memos(paths)
            if memo.agent == here.agent and memo.config != str(here.config)
        ]
        places += [(host, place) for place in (here, *noted) if place.config.is_dir()]
    return places


def _remove_from(paths: Paths, host: Host, place: Place) -> None:
    memo = memo_of(read_memos(paths), place)
    if host.remove(place, memo.before if memo else None, _environ_for(host, place)):
        click.echo(f"{host.TITLE}: plugin removed from {place.config}")
    drop_memo(paths, place)


def _environ_for(host: Host, place: Place) -> dict[str, str]:
    """The environment in which the host's command works on this place."""
    environ = dict(os.environ)
    if host.find_place(environ).config != place.config:
        # Claude Code keeps one file elsewhere when the variable is set: set it only if needed.
        environ.pop(host.ROOT_VARIABLE, None)
        if host.find_place(environ).config != place.config:
            environ[host.ROOT_VARIABLE] = str(place.config)
    return environ


def _remove_program(paths: Paths) -> None:
    """Remove what scripts/install made: the link to the command, then the environments."""
    folder = Path(paths.home) / "bin" if paths.home else Path.home() / ".local" / "bin"
    link = folder / "mash"
    current = Path(paths.data) / "current"
    if link.is_symlink() and os.readlink(link) == str(current / "bin" / "mash"):
        link.unlink()
    if paths.home:
        remove_if_empty(folder)
    if current.is_symlink():
        current.unlink()
    shutil.rmtree(Path(paths.data) / "envs", ignore_errors=True)
    remove_if_empty(Path(paths.data))
    if paths.home:
        remove_if_empty(Path(paths.home))


def _remove_data(paths: Paths) -> None:
    config = Path(paths.config_file)
    for path in sorted(Path(paths.data).iterdir()) if os.path.isdir(paths.data) else []:
        if path.name in ("envs", "current"):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(paths.run, ignore_errors=True)
    config.unlink(missing_ok=True)
    if paths.home is None:
        Path(pin_file()).unlink(missing_ok=True)
        remove_if_empty(Path(pin_file()).parent, config.parent)
    click.echo(f"Removed the memory in {paths.data}, {paths.run} and {config}.")
