"""Build a versioned environment, point `current` at it, link its commands and run `mash init`.

Called as a file by scripts/install and by `mash upgrade`, with the interpreter to use and what to
install: a checkout or a wheel. Only the standard library is there yet.
"""

import argparse
import fcntl
import hashlib
import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # -I leaves it out

from mash_plugin.command_links import (
    PROGRAMS,
    isolate,
    link_commands,
    note_links,
    noted_folders,
    point,
    tell_links,
)
from mash_plugin.wrapping import say

SOURCES = ("mash_plugin", "hooks", "skills", ".claude-plugin", ".codex-plugin")
FILES = ("pyproject.toml", ".mcp.json", "README.md")
COMPLETE = ".complete"
SOURCE = ".source"
"""What an environment was built from; `mash upgrade` looks there for a newer version."""
DRIVER = "psycopg[binary]>=3.2"
"""What the extra `postgres` brings; an environment that takes the place of one with it has it."""
NOT_FOR_PIP = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
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
NO_AGENTS = f"{UNASKED}; the settings of the agents are left alone, `--dry-run` only tells."
# The start script that pip writes for a path with a space holds the path in double quotes.
UNQUOTABLE = frozenset('"$`\\\n\r\t')
OFFLINE = ("connection broken by", "NewConnectionError", "NameResolutionError")


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
        say(plan(places, environ, has_agents="--no-agents" not in options))
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
    return options


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


def passwd_home() -> str:
    """The home of the user database, where the daemon looks whatever HOME says."""
    return pwd.getpwuid(os.getuid()).pw_dir


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
    if places.is_given:
        refuse_git_tree(places.data)
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


def refuse_git_tree(data: Path) -> None:
    """A repository must not be able to bring a ready-made memory."""
    for folder in (data, *data.parents):
        git = folder / ".git"
        # An empty one is what Codex's sandbox leaves in /tmp while it runs (seen in 0.171.0).
        if os.path.lexists(git / "HEAD") or (git.is_file() and git.stat().st_size):
            fail(f"{data} lies inside the git work tree {folder}; choose a MASH_HOME outside it.")


def plan(places: Places, environ: Mapping[str, str], *, has_agents: bool) -> str:
    """What is going to be done, in one line; a second one when HOME is not the account's."""
    clients = (("claude", "Claude Code"), ("codex", "Codex"))
    path = environ.get("PATH", os.defpath)
    found = [title for name, title in clients if has_agents and shutil.which(name, path=path)]
    agents = f" for {' and '.join(found)}" if found else ""
    names = " and ".join(f"`{name}`" for name in PROGRAMS)
    text = f"This builds mash in {places.data} and links {names} into {places.commands};"
    text += f" `mash init` then sets it up{agents}."
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


def name_of(root: Path) -> str:
    """VERSION-HASH of the sources and the interpreter: equal sources are built once."""
    # One interpreter has many names: `python3`, `python3.11`, the one of an environment.
    python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    digest = hashlib.sha256(f"{sys.version}\0{python}\0".encode())
    if root.is_file():  # a wheel: its name holds the version
        digest.update(root.read_bytes())
        return f"{root.name.split('-')[1]}-{digest.hexdigest()[:12]}"
    files = [root / name for name in FILES]
    for folder in SOURCES:
        files += [f for f in sorted((root / folder).rglob("*")) if f.suffix not in (".pyc", ".pyo")]
    for file in files:
        if file.is_file():
            digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    version = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return f"{version}-{digest.hexdigest()[:12]}"


def build(environment: Path, root: Path, environ: Mapping[str, str]) -> None:
    """Make the environment at its final place: a moved one would not start."""
    say(f"Building {environment}: about a minute.")
    shutil.rmtree(environment, ignore_errors=True)
    quiet = {name: value for name, value in environ.items() if name not in NOT_FOR_PIP}
    python = str(environment / "bin" / "python")
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    try:
        say("  Making the environment ...")
        run([sys.executable, "-I", "-m", "venv", str(environment)], quiet)
        say("  Fetching and installing the libraries, the longest part ...")
        run([*pip, "--disable-pip-version-check", str(root)], quiet)
        # Python 3.11 puts it there; its hook into `site` costs every start of Python 1 ms.
        run([python, "-I", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], quiet)
        isolate_commands(environment)
        say("  Checking that it starts ...")
        run([str(environment / "bin" / "mash"), "--version"], quiet)
    except BaseException:
        shutil.rmtree(environment, ignore_errors=True)
        raise
    (environment / COMPLETE).touch()


def isolate_commands(environment: Path) -> None:
    """Let no variable bring the commands of an environment other modules."""
    for program in (environment / "bin" / name for name in PROGRAMS):
        if program.exists():  # a former version may have no such command
            isolate(program, environment / "bin" / "python")


def brings_driver(environment: Path) -> bool:
    """Whether the driver of Postgres is installed there."""
    return any(environment.glob("lib/python*/site-packages/psycopg/__init__.py"))


def add_driver(environment: Path, environ: Mapping[str, str]) -> None:
    """Install the driver of Postgres into an environment that is built."""
    say("  Fetching the driver of Postgres ...")
    quiet = {name: value for name, value in environ.items() if name not in NOT_FOR_PIP}
    pip = [str(environment / "bin" / "python"), "-I", "-m", "pip", "install", "--quiet"]
    run([*pip, "--no-input", "--disable-pip-version-check", DRIVER], quiet)


def run(command: list[str], environ: Mapping[str, str]) -> None:
    """Run one step; end with its telling lines and what to do when it fails."""
    done = subprocess.run(
        command, env=dict(environ), capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        said = f"{done.stdout}\n{done.stderr}"
        fail(f"`{shlex.join(command)}` failed: {telling(said)} {advice_on(said)}")


def telling(said: str) -> str:
    """The few lines of a long output that name the cause."""
    lines = list(dict.fromkeys(filter(None, (line.strip() for line in said.splitlines()))))
    offline = [line for line in lines if any(mark in line for mark in OFFLINE)]
    lines = [line for line in lines if line not in offline and not line.startswith("note:")]
    errors = [line for line in lines if "error" in line.lower()]
    cause = [line.partition("connection broken by ")[2] or line for line in offline]
    return " / ".join([*cause[:1], *(errors or lines or ["no message"])[-3:]])[:900]


def advice_on(said: str) -> str:
    """What to do about it."""
    if any(mark in said for mark in OFFLINE):
        return (
            "The libraries are fetched once over the network: connect, or set HTTPS_PROXY or "
            "PIP_INDEX_URL, then run scripts/install again."
        )
    if "ensurepip" in said:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"{sys.executable} cannot make environments: install python{version}-venv or name "
            "another one: PYTHON=/path/to/python3 scripts/install"
        )
    if "No space left" in said:
        return "The disk is full: free some space, then run scripts/install again."
    return "Correct that, then run scripts/install again."


def drop_unused(envs: Path, current: Path) -> None:
    """Remove former environments that no process runs from; where that cannot be told, none."""
    for folder in envs.iterdir():
        if folder.is_dir() and folder != current and is_unused(folder):
            shutil.rmtree(folder, ignore_errors=True)


def is_unused(folder: Path) -> bool:
    """Whether no process of ours was started from this folder or has a file of it mapped."""
    processes = Path("/proc")
    if not (processes / "self" / "maps").exists():
        return False
    wanted = os.fsencode(folder) + b"/"
    for process in processes.iterdir():
        try:
            if process.name.isdigit() and any(
                wanted in (process / what).read_bytes() for what in ("cmdline", "maps")
            ):
                return False
        except OSError:
            continue
    return True


@contextmanager
def only_one(envs: Path) -> Iterator[None]:
    """Let one installation at a time work here."""
    data = envs.parent
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    envs.mkdir(exist_ok=True, mode=0o700)
    with (envs / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another installation is at work here; waiting for its end ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fail(message: str) -> None:
    """End with one message."""
    say(f"mash: {message}", sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except KeyboardInterrupt:
        print("\nmash: interrupted; run scripts/install again to go on.", file=sys.stderr)
        sys.exit(130)
    except OSError as error:
        fail(f"{error.filename or 'something'}: {error.strerror}. Correct that and run this again.")
