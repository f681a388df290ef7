"""`mash upgrade`: the version of a checkout or a wheel takes the place of the installed one.

The former environment stays for the processes that run from it, and `current` moves in one step:
whoever starts a hook, a tool server or a command gets the old or the new version, never nothing.
"""

import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from mash_plugin import environments, installer
from mash_plugin.agents.plugin import read_folder
from mash_plugin.cli.plugin import launch_of, render, source_folder, write_folder
from mash_plugin.cli.telling import tell
from mash_plugin.errors import Internal, InvalidArgument, UpgradeNeeded
from mash_plugin.paths import Paths, find_paths

NAME_TIMEOUT_S = 60
PACKAGED = "mash_plugin/plugin/"
UNASKED = (
    "Upgrading asks nothing: the daemon is replaced, and the plugin of the agents where it has"
    " changed. `mash upgrade --check` only tells."
)


@click.command()
@click.argument("source", required=False, metavar="[CHECKOUT|WHEEL]")
@click.option("--check", is_flag=True, help="Only tell whether there is another version; 1 if so.")
@click.option("--finish", is_flag=True, hidden=True)
@click.option("--fits", is_flag=True, hidden=True)
def upgrade(source: str | None, check: bool, finish: bool, fits: bool) -> int:
    """Install the version that a checkout or a wheel holds, in the place of this one.

    Without CHECKOUT or WHEEL it is the one that this version came from: run `git pull` there first.
    Nothing is asked; --check only tells.
    The daemon is replaced when its work is done. The plugin's folder is written anew only when it
    has changed; Codex then asks you to review the hooks.
    """
    from mash_plugin.connecting import refuse_sandbox

    paths = find_paths(os.environ)
    if fits:
        return _refuse_newer_store(paths)
    refuse_sandbox()
    if finish:
        return _finish(paths, is_new=True)
    current = _current(paths)
    root = _source(source, current)
    name = _name_of(root)
    if name == current.name:
        tell(f"mash {_version(name)} is what {root} holds.")
        return 0 if check else _finish(paths, is_new=False)
    tell(f"Installed is {current.name}; {root} holds {name}.")
    if check:
        _tell_plugin(paths, root)
        tell("`mash upgrade` installs it.")
        return 1
    tell(UNASKED)
    command = [environments.base_python(), "-I", str(_installer_of(root)), str(root), "--upgrade"]
    os.execv(command[0], command)  # noqa: S606 - this process has done its part


def _current(paths: Paths) -> Path:
    """The environment that `current` names. Raises InvalidArgument where there is none."""
    link = Path(paths.data) / "current"
    if not (link / environments.COMPLETE).exists():
        raise InvalidArgument(
            f"{link} names no installed version: this mash was not installed by scripts/install."
            " Upgrade it the way that it was installed."
        )
    return link.resolve()


def _source(given: str | None, current: Path) -> Path:
    """What is to be installed: a checkout or a wheel. Raises InvalidArgument for all else."""
    noted = current / environments.SOURCE
    if given is None and not noted.exists():
        raise InvalidArgument("It is not noted where this version came from: name the checkout.")
    root = Path(os.path.abspath(given if given is not None else noted.read_text("utf-8")))
    if root.is_file() and root.name.startswith("mash_plugin-") and root.suffix == ".whl":
        return root
    if (root / "mash_plugin" / "installer.py").is_file() and (root / "pyproject.toml").is_file():
        return root
    what = "is gone" if not root.exists() else "is neither a checkout nor a wheel of mash"
    raise InvalidArgument(f"{root} {what}; name one: mash upgrade CHECKOUT")


def _installer_of(root: Path) -> Path:
    """The installer to use: a checkout brings its own."""
    return root / "mash_plugin" / "installer.py" if root.is_dir() else Path(installer.__file__)


def _name_of(root: Path) -> str:
    """The environment's name for this source. Raises Internal when its installer fails."""
    command = [environments.base_python(), "-I", str(_installer_of(root)), str(root), "--name"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=NAME_TIMEOUT_S, check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        said = " ".join(done.stderr.split())[-300:]
        raise Internal(f"{root} cannot be read as a version of mash: {said}")
    return done.stdout.strip()


def _version(name: str) -> str:
    return name.rpartition("-")[0]


def _tell_plugin(paths: Paths, root: Path) -> None:
    there = read_folder(Path(paths.marketplace))
    with _plugin_sources(root) as sources:
        is_same = not there or render(sources, launch_of(paths)) == there
    word = (
        "stays as it is: nothing to review" if is_same else "changes: Codex will ask for a review"
    )
    tell(f"The plugin of the agents {word}.")


@contextmanager
def _plugin_sources(root: Path) -> Iterator[Path]:
    """The folder that holds the plugin's files, taken out of a wheel for the time."""
    if root.is_dir():
        yield root
        return
    with TemporaryDirectory() as folder, zipfile.ZipFile(root) as wheel:
        wheel.extractall(folder, [n for n in wheel.namelist() if n.startswith(PACKAGED)])
        yield Path(folder) / PACKAGED


def _refuse_newer_store(paths: Paths) -> int:
    """Raise UpgradeNeeded when the store knows more than this version, before it takes over."""
    from mash_plugin.store.checks import store_report

    report = store_report(paths, is_thorough=False)
    if report.state == "newer":
        raise UpgradeNeeded(report.problem or "")
    return 0


def _finish(paths: Paths, *, is_new: bool) -> int:
    """What a version does once it is installed: its daemon, its plugin, what to do.

    Of the version that is there already, only what is amiss.
    """
    from mash_plugin import client
    from mash_plugin.cli.wizard.found import find_agents, titles_of
    from mash_plugin.cli.wizard.plan import Plan
    from mash_plugin.cli.wizard.steps import installs, replace_other_daemon

    environments.isolate_commands(_current(paths))  # a wheel is installed by the former version
    is_new = replace_other_daemon(paths) or is_new
    client.call("ping", {}, paths=paths)
    rendered = render(source_folder(), launch_of(paths))
    folder = Path(paths.marketplace)
    has_changed = folder.is_dir() and write_folder(rendered, folder)
    # Only where the plugin is: an agent that came since is for `mash init`.
    agents = [
        one
        for one in find_agents(paths, rendered)
        if one.installed.state not in ("absent", "disabled")
    ]
    plan = Plan(paths, rendered, agents, {})
    done = [one for one in agents if installs(plan, one)]
    environments.drop_unused(Path(paths.data) / "envs", _current(paths))
    is_due = has_changed or any(one.is_due for one in done)
    if not is_new and not is_due:
        tell("Nothing has changed: agents and daemon go on as they are.")
        return int(len(done) < len(agents))
    tell(f"mash {_version(_current(paths).name)} is installed.")
    if not done:
        return int(len(done) < len(agents))
    if is_due:
        for review in dict.fromkeys(one.host.REVIEW for one in done if one.host.REVIEW):
            tell(review)
    else:
        tell("The plugin of the agents is the same: nothing to review.")
    tell(f"Restart {titles_of(done)} when it suits you: until then their tools are the former.")
    return int(len(done) < len(agents))
