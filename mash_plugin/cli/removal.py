"""What mash has made on this machine, and how each of it goes again; nothing else is touched."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import PLUGIN_ID, Place, remove_if_empty
from mash_plugin.cli.completion import remove_completions, written_completions
from mash_plugin.cli.memo import Memo, drop_memo, memo_of, read_memos
from mash_plugin.command_links import PROGRAMS, noted_links
from mash_plugin.errors import InvalidArgument
from mash_plugin.group.joining import FILE as CONNECTION
from mash_plugin.paths import Paths, pin_file

MEMORY = ("records.db", "chats.db", "backups", "reviews", "group-copies", "setup.json")
"""What the data folder holds of ours beside the program, with all names that begin so."""

GONE = "envs.gone"
"""The environments that are being removed."""

RM = "/bin/rm"
"""Not there on NixOS."""


@dataclass(frozen=True, slots=True)
class InAgent:
    """The plugin in one place of one agent."""

    host: Host
    place: Place
    memo: Memo | None
    is_ours: bool
    """Not so for a plugin of that name that came from elsewhere."""

    @property
    def settings_file(self) -> Path:
        return self.place.config / self.host.SETTINGS


def find_in_agents(paths: Paths) -> list[InAgent]:
    """Every place where our plugin is, was put, or may be in part."""
    memos = read_memos(paths)
    found = [
        _look(paths, host, place, memo_of(memos, place))
        for host in HOSTS
        for place in _places(host, memos)
    ]
    return [one for one in found if one is not None]


def remove_from_agent(paths: Paths, one: InAgent) -> bool:
    """Take our entries out; whether there were any. Raises what the host's module raises."""
    environ = _environ_for(one.host, one.place)
    was_there = False
    if one.place.config.is_dir():
        was_there = one.host.remove(one.place, one.memo.before if one.memo else None, environ)
    drop_memo(paths, one.place)
    return was_there


def command_links(paths: Paths) -> list[Path]:
    """The links to the commands that scripts/install made, also under another HOME."""
    data = Path(paths.data)
    links = [*(_bin(paths) / name for name in PROGRAMS), *noted_links(data)]
    ours = [k for k in links if k.is_symlink() and _is_command(os.readlink(k), data)]
    return list(dict.fromkeys(ours))


def program_folders(paths: Paths) -> list[Path]:
    """The environments with the link to the newest, and the plugin's folder."""
    data = Path(paths.data)
    folders = [data / "envs", data / GONE, data / "current", Path(paths.marketplace)]
    return [path for path in folders if os.path.lexists(path)]


def completions() -> list[Path]:
    """The scripts of shells that `mash completion --install` wrote."""
    return written_completions(os.environ)


def memory_files(paths: Paths) -> list[Path]:
    """The stores with all that lies beside them, their backups, the settings and the log.

    The connection file of a group, too: it holds a password.
    """
    data = Path(paths.data)
    there = sorted(data.iterdir()) if data.is_dir() else []
    found = [path for path in there if path.name.startswith(MEMORY)]
    config = Path(paths.config_file)
    found += [Path(paths.run), config, config.with_name(CONNECTION)]
    if paths.home is None:
        found.append(Path(pin_file()))
    return [path for path in found if os.path.lexists(path)]


def foreign_files(paths: Paths) -> list[Path]:
    """What lies in the data folder and is not of ours."""
    data = Path(paths.data)
    ours = {*program_folders(paths), *memory_files(paths)}
    return sorted(path for path in data.iterdir() if path not in ours) if data.is_dir() else []


def remove_files(files: list[Path]) -> None:
    """Remove files, links and folders. Raises InvalidArgument for what cannot be removed."""
    for path in files:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise _not_removed(path, error) from None


def remove_program(paths: Paths) -> None:
    """The completions, the environments, the commands, and folders that hold nothing any more.

    The commands work until all that may fail is done, so that `mash uninstall` can be run again.
    """
    data, links = Path(paths.data), command_links(paths)
    remove_completions(os.environ)
    remove_files([Path(paths.marketplace)])
    _put_out_of_use(data)
    try:
        remove_files([*links, data / "current"])
    except InvalidArgument:
        if (data / GONE).exists():
            (data / GONE).rename(data / "envs")
        raise
    _remove_for_good(data / GONE)
    folders = [Path(paths.data)]
    if paths.home:
        folders = [_bin(paths), *folders, Path(paths.home)]
    else:
        folders += [Path(paths.config_file).parent, Path(pin_file()).parent]
    remove_if_empty(*folders)


def _put_out_of_use(data: Path) -> None:
    """Half a program does not run: the environments go by one renaming, or not at all."""
    if (data / GONE).exists():
        _remove_for_good(data / GONE)
    if (data / "envs").exists():
        try:
            (data / "envs").rename(data / GONE)
        except OSError as error:
            raise _not_removed(data / "envs", error) from None


def _remove_for_good(folder: Path) -> None:
    """In a process of its own, which goes on when the terminal is closed or ^C is typed."""
    if not folder.exists():
        return None
    try:
        remover = subprocess.Popen(
            [RM, "-rf", "--", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return remove_files([folder])
    if remover.wait() != 0:
        raise InvalidArgument(f"{folder} cannot be removed; remove it by hand.")
    return None


def _not_removed(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(
        f"{error.filename or path} cannot be removed ({error.strerror}); remove it by hand"
        " or make it removable, then run `mash uninstall` again."
    )


def _look(paths: Paths, host: Host, place: Place, memo: Memo | None) -> InAgent | None:
    state = "absent"
    if place.config.is_dir():
        try:
            state = host.inspect(place, Path(paths.marketplace), {}).state
        except OSError:
            state = "broken"
    mentions = set(_mentions(paths, place.config / host.SETTINGS))
    if memo is None and not mentions and state in ("absent", "broken"):
        return None
    return InAgent(host, place, memo, is_ours=memo is not None or "our folder" in mentions)


def _mentions(paths: Paths, settings: Path) -> Iterator[str]:
    """Whether a file of settings, even a broken one, names our folder or a plugin of our name."""
    try:
        text = settings.read_bytes().decode("utf-8", "replace")
    except OSError:
        return
    if paths.marketplace in text or json.dumps(paths.marketplace)[1:-1] in text:
        yield "our folder"
    if PLUGIN_ID in text:
        yield "our name"


def _places(host: Host, memos: list[Memo]) -> list[Place]:
    """This environment's own place, and those that were noted."""
    here = host.find_place(os.environ)
    noted = [Path(memo.config) for memo in memos if memo.agent == here.agent]
    return [here, *(replace(here, config=config) for config in noted if config != here.config)]


def _environ_for(host: Host, place: Place) -> dict[str, str]:
    """The environment in which the host's command works on this place."""
    environ = dict(os.environ)
    if host.find_place(environ).config != place.config:
        # Claude Code keeps one file elsewhere when the variable is set: set it only if needed.
        environ.pop(host.ROOT_VARIABLE, None)
        if host.find_place(environ).config != place.config:
            environ[host.ROOT_VARIABLE] = str(place.config)
    return environ


def _bin(paths: Paths) -> Path:
    return Path(paths.home) / "bin" if paths.home else Path.home() / ".local" / "bin"


def _is_command(target: str, data: Path) -> bool:
    return target in [f"{data}/current/bin/{name}" for name in PROGRAMS]
