"""Say what is going to be installed and where, ask, have it built, and run `mash init`.

Called as a file by scripts/install and by `mash upgrade`, with the interpreter to use and what to
install: a checkout or a wheel. Only the standard library is there yet.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # -I leaves it out

from mash_plugin.command_links import (
    PROGRAMS,
    link_commands,
    note_links,
    noted_folders,
    point,
    tell_links,
)
from mash_plugin.environments import (
    COMPLETE,
    SOURCE,
    add_driver,
    brings_driver,
    build,
    drop_unused,
    fail,
    name_of,
    only_one,
    run,
)
from mash_plugin.paths import passwd_home, work_tree_of
from mash_plugin.wrapping import say

POSTGRES = "--postgres"
FOLLOWED_BY_INIT = (
    ("--yes", "do not ask"),
    ("--no-index", "leave the chats unread for now"),
    ("--no-agents", "install into no agent"),
    ("--allow-saving", "let the agents use mash without asking you"),
    ("--no-allow-saving", "or not; asked otherwise on a terminal"),
    ("--personal", "show personal preferences at the start of every session"),
    ("--no-personal", "or not; asked otherwise on a terminal"),
    ("--no-backfill", "do not offer to review your last chats"),
    ("--dry-run", "say what would be done; change nothing"),
)
UNASKED = "There is no terminal to ask on, so all of this is done unasked"
ALSO_AGENTS = (
    f"{UNASKED}, also in the settings of the agents; `--no-agents` leaves those alone,"
    " `--dry-run` only tells."
)
AGREED = "--agreed"
"""Tells `mash init` that the person has said yes to this already."""
NO_AGENTS = f"{UNASKED}; the settings of the agents are left alone, `--dry-run` only tells."
# The start script that pip writes for a path with a space holds the path in double quotes.
UNQUOTABLE = frozenset('"$`\\\n\r\t')


class Agent(NamedTuple):
    """What is to be told of an agent before its own module can be imported."""

    command: str
    title: str
    variable: str
    """Names another folder than the one in HOME."""
    folder: str
    settings: str

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        """The file that `mash init` has the agent write."""
        return Path(environ.get(self.variable) or Path(environ["HOME"], self.folder), self.settings)


AGENTS = (
    Agent("claude", "Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    Agent("codex", "Codex", "CODEX_HOME", ".codex", "config.toml"),
)


class Places(NamedTuple):
    """Where everything goes."""

    data: Path
    commands: Path
    is_given: bool
    """Whether MASH_HOME names the place."""


def main(root: Path, arguments: list[str]) -> None:
    """Install, then become `mash init`, or for `mash upgrade` the end of it."""
    if "--name" in arguments:
        print(name_of(root))
        return
    is_upgrade = "--upgrade" in arguments
    options = [] if is_upgrade else read_options(arguments)
    environ = dict(os.environ)
    if not environ.get("HOME"):
        environ["HOME"] = os.environ["HOME"] = passwd_home()
    places = find_places(environ)
    refuse_unusable(places)
    environment = places.data / "envs" / name_of(root)
    if not is_upgrade:
        say(plan(places, environ, options))
        options = agreed(options)
    has_driver = POSTGRES in options or brings_driver(places.data / "current")
    install(environment, root, places, environ, is_upgrade=is_upgrade, wants_driver=has_driver)
    folders = noted_folders(places.data) if is_upgrade else [places.commands]
    made = [link for folder in folders for link in link_commands(folder, places.data)]
    note_links(places.data, made)
    if made and not is_upgrade:
        tell_links(made, environ)
    command = places.data / "current" / "bin" / PROGRAMS[0]
    then = (
        ["upgrade", "--finish"]
        if is_upgrade
        else ["init", *(option for option in options if option != POSTGRES)]
    )
    os.execve(command, [str(command), *then], environ)  # noqa: S606 - no shell is wanted


def install(
    environment: Path,
    root: Path,
    places: Places,
    environ: Mapping[str, str],
    *,
    is_upgrade: bool,
    wants_driver: bool,
) -> None:
    """Have the environment built and let `current` name it: hooks start the old or the new."""
    with only_one(places.data / "envs"):
        if (environment / COMPLETE).exists():
            say(f"mash is built already: {environment}")
        else:
            build(environment, root, environ)
        if wants_driver and not brings_driver(environment):
            add_driver(environment, environ)
        (environment / SOURCE).write_text(str(root), "utf-8")
        if is_upgrade:  # the old one serves on where the new one knows less than the store
            run([str(environment / "bin" / "mash"), "upgrade", "--fits"], environ)
        point(places.data / "current", f"envs/{environment.name}")
        drop_unused(places.data / "envs", environment)


def agreed(options: list[str]) -> list[str]:
    """The options, once the person on the terminal agrees; ends here for --dry-run and for no."""
    is_dry, is_unasked = "--dry-run" in options, "--yes" in options
    if not is_dry and not is_unasked and not sys.stdin.isatty():
        say(NO_AGENTS if "--no-agents" in options else ALSO_AGENTS)
        return ["--yes", *options]
    if is_dry or (not is_unasked and not agrees()):
        print("Nothing was changed.")
        sys.exit(0 if is_dry else 1)
    return options if is_unasked else [AGREED, *options]


def read_options(arguments: list[str]) -> list[str]:
    """The options for `mash init`; ends here for --help and for what it does not know."""
    parser = argparse.ArgumentParser(
        "scripts/install",
        description="Build mash, link its commands into ~/.local/bin and set up every agent found. "
        "Asks first on a terminal, goes on unasked without one. PYTHON names the interpreter, "
        "MASH_HOME another place.",
        allow_abbrev=False,
    )
    parser.add_argument(
        POSTGRES, action="store_const", const=POSTGRES, help="with the driver of Postgres"
    )
    for name, text in FOLLOWED_BY_INIT:
        parser.add_argument(name, action="store_const", const=name, help=text)
    return [option for option in vars(parser.parse_args(arguments)).values() if option]


def find_places(environ: Mapping[str, str]) -> Places:
    """MASH_HOME's places, else the account's own; the link goes where this HOME's shell looks."""
    given = environ.get("MASH_HOME")
    if given:
        home = Path(os.path.abspath(given))
        return Places(home / "data", home / "bin", is_given=True)
    if not os.path.isabs(environ["HOME"]):
        fail(f"HOME={environ['HOME']} is no absolute path; correct it and run this again.")
    commands = Path(environ["HOME"], ".local", "bin")
    return Places(data_folder(environ), commands, is_given=False)


def data_folder(environ: Mapping[str, str]) -> Path:
    """The pinned data folder, else the one that `mash init` is going to pin."""
    account = passwd_home()
    try:
        return Path(json.loads(Path(account, ".mash/paths.json").read_bytes())["data"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    is_own = os.path.realpath(environ["HOME"]) == os.path.realpath(account)
    given = environ.get("XDG_DATA_HOME", "").strip()
    if is_own and given and os.path.isabs(given):
        return Path(given, "mash")
    if sys.platform == "darwin":
        return Path(account) / "Library" / "Application Support" / "mash"
    return Path(account) / ".local" / "share" / "mash"


def refuse_unusable(places: Places) -> None:
    """End with one line where nothing can be put, before anything is done."""
    if places.is_given and (tree := work_tree_of(str(places.data))):
        # A repository must not be able to bring a ready-made memory.
        fail(f"{places.data} lies inside the git work tree {tree}; choose a MASH_HOME outside it.")
    if UNQUOTABLE & set(str(places.data)):
        fail(f"{places.data} holds a character that commands cannot carry; choose another place.")
    wanted = [places.data] if places.is_given else [places.data, Path(passwd_home(), ".mash")]
    for folder in wanted:
        there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
        advice = "Make it usable, or name another place: MASH_HOME=/path/to/folder scripts/install"
        if not there.is_dir():
            fail(f"{there} is not a folder, and {folder} must be made there. {advice}")
        if not os.access(there, os.W_OK | os.X_OK):
            fail(f"{there} cannot be written by you, and {folder} must be made there. {advice}")


def plan(places: Places, environ: Mapping[str, str], options: list[str]) -> str:
    """What is going to be done, in one line; a second one when HOME is not the account's."""
    path = environ.get("PATH", os.defpath)
    found = [one for one in AGENTS if shutil.which(one.command, path=path)]
    into = [f"{one.title} (in {one.settings_file(environ)})" for one in found]
    agents = f" for {' and '.join(into)}" if into and "--no-agents" not in options else ""
    index = "" if "--no-index" in options else " and indexes your agents' chats there"
    names = " and ".join(f"`{name}`" for name in PROGRAMS)
    text = f"This builds mash in {places.data} and links {names} into {places.commands};"
    text += f" `mash init` then sets it up{agents}{index}."
    if not places.is_given:
        text += f" Its socket and its log go to {Path(passwd_home(), '.mash')}."
    if not places.is_given and os.path.realpath(environ["HOME"]) != os.path.realpath(passwd_home()):
        text += f"\nHOME is {environ['HOME']}, but memory is kept once for your account: in "
        text += f"{places.data}. For one apart: MASH_HOME=/path/to/folder scripts/install"
    return text


def agrees() -> bool:
    """Ask on the terminal; Enter means yes."""
    try:
        answer = input("Go on? [Y/n] ").strip().lower()
    except EOFError:
        answer = "n"
    return answer in ("", "y", "yes")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except KeyboardInterrupt:
        print("\nmash: interrupted; run scripts/install again to go on.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        fail(f"{error.filename or 'something'}: {error.strerror}. Correct that and run this again.")
