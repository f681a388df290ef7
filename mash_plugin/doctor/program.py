"""The installed program: the interpreter of the hooks, the command on PATH, old environments."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from mash_plugin.agents.commands import run_bounded
from mash_plugin.command_links import PROGRAMS, point
from mash_plugin.doctor.finding import Finding, Repair
from mash_plugin.doctor.machine import Machine
from mash_plugin.environments import COMPLETE, is_unused
from mash_plugin.errors import Internal, plain_reason
from mash_plugin.wording import counted

INTERPRETER_TIMEOUT_S = 10
OLDEST_PYTHON = (3, 11)
SILENT = "hooks that name it stay silent: agents get no memory"
INSTALL = "scripts/install"
UPGRADE = "mash upgrade"
_PROBE = (
    "import sys; from importlib.metadata import version;"
    " print(version('mash-plugin'), *sys.version_info[:2])"
)


def check_link(machine: Machine) -> Iterator[Finding]:
    """DATA/current, which the hooks' commands go through."""
    link = Path(machine.paths.data) / "current"
    if not os.path.lexists(link):
        return
    if (link / "bin" / "python").exists():
        yield Finding("current-link", "ok", f"{link} -> {os.readlink(link)}")
        return
    text = f"{link} leads to {_target(link)}, which has no interpreter"
    whole = _newest_environment(link.parent / "envs")
    if whole is None:
        yield Finding("current-link-broken", "error", text, SILENT, INSTALL)
        return
    target = f"envs/{whole.name}"
    command = f"ln -sfn {shlex.quote(target)} {shlex.quote(str(link))}"
    yield Finding(
        "current-link-broken", "error", text, SILENT, command, Repair(lambda: _point(link, target))
    )


def check_interpreter(machine: Machine) -> Iterator[Finding]:
    """The Python that the hooks' commands name, and the one that they would get now."""
    wanted = machine.rendering().interpreter
    named = interpreter_in_hooks(Path(machine.paths.marketplace))
    for path in dict.fromkeys(filter(None, (named, wanted))):
        # Rendering anew names another one; the wanted one itself must be built anew.
        yield _examined(path, "mash init" if path != wanted else INSTALL)


def check_command(machine: Machine) -> Iterator[Finding]:
    """Which `mash` and which `meaning-memory` a person gets who types it."""
    first, *others = PROGRAMS
    there = [name for name in others if (Path(sys.executable).parent / name).exists()]
    found = [_command(machine, name) for name in (first, *there)]
    # One is enough: the line that helps one command helps all of them.
    yield next((one for one in found if one.is_problem), found[0])


def check_environments(machine: Machine) -> Iterator[Finding]:
    """Environments of former versions that nothing runs from."""
    data = Path(machine.paths.data)
    current = os.path.realpath(data / "current")
    try:
        folders = sorted(path for path in (data / "envs").iterdir() if path.is_dir())
    except OSError:
        return
    former = [path for path in folders if os.path.realpath(path) != current]
    old = [path for path in former if (path / COMPLETE).exists() and is_unused(path)]
    if not old or not os.path.exists(current):
        return

    def drop() -> str:
        for path in old:
            shutil.rmtree(path)
        return f"removed {', '.join(map(str, old))}"

    names = ", ".join(path.name for path in old)
    text = f"{counted(len(old), 'environment')} of former versions left: {names}"
    command = f"rm -r {shlex.join(map(str, old))}"
    why = "nothing runs from them; they only take room"
    yield Finding("environments-left", "note", text, why, command, Repair(drop))


def interpreter_in_hooks(marketplace: Path) -> str | None:
    """What the rendered hooks start, None where none are rendered."""
    command = hook_command(marketplace / "mash")
    return command[0] if command else None


def hook_command(plugin: Path) -> list[str]:
    """The words of the first hook's command in a plugin folder; empty where there is none."""
    try:
        groups = json.loads((plugin / "hooks" / "hooks.json").read_bytes())["hooks"]
        return shlex.split(groups["SessionStart"][0]["hooks"][0]["command"])
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return []


def _command(machine: Machine, name: str) -> Finding:
    own = Path(sys.executable).parent / name
    found = shutil.which(name, path=machine.environ.get("PATH", os.defpath))
    line = _path_line(machine, own.parent)
    if found is None:
        text, why = f"`{name}` is not on PATH", "commands that messages and recipes name fail"
        return Finding("command-not-found", "warning", text, why, line)
    if own.exists() and os.path.realpath(found) != os.path.realpath(own):
        text = f"the first `{name}` on PATH is {found}, not that of this environment, {own}"
        why = f"another version may answer when you type `{name}`"
        return Finding("command-of-another", "warning", text, why, line)
    return Finding("command", "ok", f"{found}, version {version('mash-plugin')}")


def _examined(path: str, command: str) -> Finding:
    if not os.path.exists(path):
        return Finding("interpreter-gone", "error", f"{path} is gone", SILENT, command)
    try:
        said = _run(path)
    except Internal as error:
        return Finding("interpreter-broken", "error", f"{path} {error.message}", SILENT, command)
    build, *python = said.split()
    if tuple(map(int, python)) < OLDEST_PYTHON:
        text = f"{path} is Python {'.'.join(python)}; mash needs 3.11 or newer"
        return Finding("interpreter-old", "error", text, SILENT, INSTALL)
    if build != version("mash-plugin"):
        text = f"{path} has mash {build}, this is {version('mash-plugin')}"
        why = "hooks start a daemon of that version"
        return Finding("interpreter-of-another", "warning", text, why, "mash init")
    return Finding("interpreter", "ok", f"{path}, Python {'.'.join(python)}")


def _run(path: str) -> str:
    try:
        done = run_bounded([path, "-I", "-c", _PROBE], os.environ, INTERPRETER_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Internal(f"gave no answer in {INTERPRETER_TIMEOUT_S} s") from None
    except OSError as error:
        raise Internal(f"does not run ({plain_reason(error)})") from None
    said = done.stdout.decode("utf-8", "replace").strip()
    if done.returncode or len(said.split()) != len(("build", "major", "minor")):
        raise Internal("cannot import mash")
    return said


def _path_line(machine: Machine, folder: Path) -> str:
    """The line for this folder, by the link that the next upgrade moves on."""
    stable = Path(machine.paths.data) / "current" / "bin"
    if os.path.realpath(stable) == os.path.realpath(folder):
        folder = stable
    return f'export PATH={shlex.quote(str(folder))}:"$PATH"'


def _target(link: Path) -> str:
    return os.readlink(link) if link.is_symlink() else "a folder of its own"


def _newest_environment(folder: Path) -> Path | None:
    """The environment that was built last and whole."""
    try:
        whole = [path for path in folder.iterdir() if (path / COMPLETE).exists()]
    except OSError:
        return None
    usable = [path for path in whole if (path / "bin" / "python").exists()]
    return max(usable, key=lambda path: (path / COMPLETE).stat().st_mtime, default=None)


def _point(link: Path, target: str) -> str:
    point(link, target)
    return f"pointed {link} at {target}"
