"""What an installation would change in the settings: done on a copy, shown as a difference."""

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from mash_plugin.cli.pins import (
    add_roots,
    sessions_folder,
    set_personal,
    set_sessions,
    unseen_roots,
)
from mash_plugin.cli.plugin import write_folder
from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.found import Found
from mash_plugin.cli.wizard.plan import Choices, Plan
from mash_plugin.errors import MashError
from mash_plugin.privacy.credentials import mask

CONTEXT_LINES = 2


def tell_changes(plan: Plan, choices: Choices) -> None:
    """Print every change of a settings file as a difference; nothing outside a copy is written."""
    tell("These settings would change:")
    with tempfile.TemporaryDirectory(prefix="mash-dry-run-") as folder:
        lines = list(_own_settings(plan, choices, Path(folder)))
        for one in plan.agents:
            lines += _settings_of(plan, choices, one, Path(folder))
    for line in lines or ["  none"]:
        click.echo(mask(line))
    tell("Nothing was changed.")


def _own_settings(plan: Plan, choices: Choices, folder: Path) -> Iterator[str]:
    file = Path(plan.paths.config_file)
    copy = folder / "config.toml"
    if file.exists():
        shutil.copy(file, copy)
    if choices.personal is not None:
        set_personal(str(copy), choices.personal)
    if choices.sessions is not None:
        set_sessions(str(copy), choices.sessions, sessions_folder(plan.paths))
    add_roots(str(copy), unseen_roots(os.environ))
    yield from _difference(file, _text(file), _text(copy))


def _settings_of(plan: Plan, choices: Choices, one: Found, folder: Path) -> list[str]:
    """The difference for one agent, by its own commands on a copy of what they read."""
    before = _text(one.settings_file)
    try:
        after = _rehearsed(plan, choices, one, folder / one.place.agent)
    except (MashError, OSError) as error:
        text = error.message if isinstance(error, MashError) else str(error)
        return [f"mash: {one.title}: {text}"]
    return list(_difference(one.settings_file, before, after))


def _rehearsed(plan: Plan, choices: Choices, one: Found, folder: Path) -> str:
    config, marketplace, home = (folder / name for name in ("config", "marketplace", "home"))
    home.mkdir(parents=True)
    for name in one.host.REHEARSED:
        if (source := one.place.config / name).is_file():
            (config / name).parent.mkdir(parents=True, exist_ok=True)
            text = _text(source).replace(str(plan.folder), str(marketplace))
            (config / name).write_bytes(text.encode())
    config.mkdir(exist_ok=True)
    write_folder(plan.rendered, marketplace)
    place = replace(one.place, config=config)
    environ = {**os.environ, "HOME": str(home), one.host.ROOT_VARIABLE: str(config)}
    if one.is_due:
        one.host.install(place, marketplace, environ)
    if choices.may_save:
        one.host.allow_saving(place)
    return _text(config / one.host.SETTINGS).replace(str(marketplace), str(plan.folder))


def _difference(file: Path, before: str, after: str) -> Iterator[str]:
    lines = (before.splitlines(), after.splitlines())
    yield from difflib.unified_diff(
        *lines, str(file), f"{file} (after)", n=CONTEXT_LINES, lineterm=""
    )


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
