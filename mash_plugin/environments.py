"""Versioned environments of the program: named by what they hold, built whole, removed when unused.

`installer` runs this with the standard library alone.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mash_plugin.command_links import PROGRAMS, isolate
from mash_plugin.wrapping import say

SOURCES = ("mash_plugin", "hooks", "skills", ".claude-plugin", ".codex-plugin")
FILES = ("pyproject.toml", ".mcp.json", "README.md")
COMPLETE = ".complete"
SOURCE = ".source"
"""What an environment was built from; `mash upgrade` looks there for a newer version."""
DRIVER = "psycopg[binary]>=3.2"
"""What the extra `postgres` brings; an environment that takes the place of one with it has it."""
NOT_FOR_PIP = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
OFFLINE = ("connection broken by", "NewConnectionError", "NameResolutionError")


def name_of(root: Path) -> str:
    """VERSION-HASH of the sources and the interpreter: equal sources are built once."""
    # One interpreter has many names: `python3`, `python3.11`, the one of an environment.
    python = os.path.realpath(base_python())
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


def base_python() -> str:
    """The interpreter that runs this, or that its environment was made with."""
    return os.path.abspath(getattr(sys, "_base_executable", None) or sys.executable)


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
