"""`mash uninstall`: the agents as they were; the memory stays unless told otherwise."""

import json
import os
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import click

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import Place, remove_if_empty
from mash_plugin.cli.completion import remove_completions
from mash_plugin.cli.memo import drop_memo, memo_of, read_memos
from mash_plugin.cli.stopping import free_store
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.paths import Paths, find_paths, pin_file


@click.command()
@click.option("--data", is_flag=True, help="Remove the memory, its backups and settings too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(data: bool, yes: bool) -> int:
    """Take mash out of every agent; keep the memory unless --data is given."""
    from mash_plugin import client

    paths = find_paths(os.environ)
    client.refuse_sandbox()
    if not yes:
        _ask(paths, data)
    has_failed = False
    removed = []
    for host, place in _places(paths):
        try:
            if _remove_from(paths, host, place):
                removed.append(host.TITLE)
        except (MashError, OSError, ValueError) as error:
            has_failed = True
            click.echo(f"mash: {host.TITLE}: {_text_of(error)}", err=True)
    if has_failed:
        # The folder stays: an agent whose settings still name it would fail to load it.
        click.echo("mash: the rest was left as it is; run `mash uninstall` again then.", err=True)
        return 1
    free_store(paths)
    shutil.rmtree(paths.marketplace, ignore_errors=True)
    if removed:
        titles = " and ".join(dict.fromkeys(removed))
        click.echo(f"Restart {titles}, so that the plugin is forgotten.")
    else:
        click.echo("mash was set up in no agent.")
    if data:
        _remove_data(paths)
    else:
        _tell_what_stays(paths)
    # Last of all: this very program may be running from there.
    _remove_program(paths)
    return 0


def _text_of(error: Exception) -> str:
    return error.message if isinstance(error, MashError) else f"{type(error).__name__}: {error}"


def _tell_what_stays(paths: Paths) -> None:
    mine = _own_places(paths)
    if not mine:
        click.echo("There is no memory here.")
        return
    click.echo(f"Your memory and settings stay: {', '.join(mine)}.")
    click.echo("scripts/install uses them again; to remove them for good:")
    click.echo(f"  rm -r {shlex.join(mine)}")


def _own_places(paths: Paths) -> list[str]:
    """Every place of memory, settings and runtime files that exists."""
    names = [paths.data, paths.run, paths.config_file]
    if paths.home is None:
        names.append(pin_file())
    elif os.path.isdir(paths.home):
        names = [paths.home]
    return [name for name in names if os.path.exists(name)]


def _ask(paths: Paths, data: bool) -> None:
    if not sys.stdin.isatty():
        raise InvalidArgument("uninstall asks first, and this is no terminal: add --yes.")
    what = f" and ALL MEMORY in {paths.data}, backups included" if data else ""
    if not click.confirm(f"Remove mash from the agents{what}?", default=False, err=True):
        click.echo("Nothing was changed.")
        click.get_current_context().exit(1)


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


def _remove_from(paths: Paths, host: Host, place: Place) -> bool:
    memo = memo_of(read_memos(paths), place)
    if memo:
        click.echo(f"{host.TITLE}: removing the plugin ...", err=True)
    was_there = host.remove(place, memo.before if memo else None, _environ_for(host, place))
    if was_there:
        click.echo(f"{host.TITLE}: plugin removed from {place.config}")
    drop_memo(paths, place)
    return was_there


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
    current = Path(paths.data) / "current"
    for link in (folder / "mash", *_noted_links(paths)):
        if link.is_symlink() and os.readlink(link) == str(current / "bin" / "mash"):
            link.unlink()
            click.echo(f"Removed the command {link}.")
    for file in remove_completions(os.environ):
        click.echo(f"Removed the completion {file}.")
    if paths.home:
        remove_if_empty(folder)
    if current.is_symlink():
        current.unlink()
    shutil.rmtree(Path(paths.data) / "envs", ignore_errors=True)
    remove_if_empty(Path(paths.data))
    if paths.home:
        remove_if_empty(Path(paths.home))


def _noted_links(paths: Paths) -> list[Path]:
    """The links that scripts/install made, also under another HOME."""
    try:
        links = json.loads((Path(paths.data) / "envs" / "links.json").read_bytes())
    except (OSError, ValueError):
        return []
    return [Path(link) for link in links if isinstance(link, str)]


def _remove_data(paths: Paths) -> None:
    config = Path(paths.config_file)
    memory = _memory(paths)
    for path in memory:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    had_config = config.exists()
    shutil.rmtree(paths.run, ignore_errors=True)
    config.unlink(missing_ok=True)
    if paths.home is None:
        Path(pin_file()).unlink(missing_ok=True)
        remove_if_empty(Path(pin_file()).parent, config.parent)
    gone = [f"the memory in {paths.data}"] * bool(memory) + [f"{config}"] * had_config
    click.echo(f"Removed {' and '.join(gone)}." if gone else "There was no memory to remove.")


def _memory(paths: Paths) -> list[Path]:
    data = Path(paths.data)
    if not data.is_dir():
        return []
    return [path for path in sorted(data.iterdir()) if path.name not in ("envs", "current")]
