"""Install the plugin into Codex with its own commands, ask for hook trust, take it out again.

Seen in 0.171.0: `plugin add` copies the folder into the cache and must run again after a
change; `config.toml` keeps comments and order; `plugin remove` leaves the trust of hooks
and empty cache folders behind. Trust is the person's to give, in `/hooks`.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mash_plugin.agents.codex import COMMAND, NAME
from mash_plugin.agents.codex import HOME_FOLDER as HOME_FOLDER
from mash_plugin.agents.codex import ROOT_VARIABLE as ROOT_VARIABLE
from mash_plugin.agents.codex import ROOTS_KEY as ROOTS_KEY
from mash_plugin.agents.codex import TITLE as TITLE
from mash_plugin.agents.codex.listing import UPDATE as UPDATE
from mash_plugin.agents.codex.listing import list_plugins as list_plugins
from mash_plugin.agents.codex.listing import remove_command as remove_command
from mash_plugin.agents.codex.permission import allow_saving as allow_saving
from mash_plugin.agents.codex.permission import may_save as may_save
from mash_plugin.agents.codex.settings_text import former_texts, is_ours, without_tables
from mash_plugin.agents.codex.trust import hook_trust as hook_trust
from mash_plugin.agents.commands import run_client
from mash_plugin.agents.plugin import (
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    Before,
    Installed,
    Place,
    find_command,
    read_folder,
    remove_if_empty,
    remove_tree,
    sha256_of,
    table_in,
    user_home,
)
from mash_plugin.errors import Internal, InvalidArgument, plain_reason
from mash_plugin.file_writing import replace_file

REVIEW_COMMAND = (
    "start `codex`; at 'Hooks need review' choose to review and trust those of mash"
    " (or type /hooks at any time)"
)
REVIEW = (
    "Codex does not run new or changed hooks until you have reviewed them. Start `codex`: it shows"
    " 'Hooks need review' by itself; look at the hooks of mash and trust them. Later you find them"
    " by typing /hooks. Until then they stay off."
)
HOOK_STATE = "hooks.state"
HOOKS_FILE = "hooks/codex.json"
SETTINGS = "config.toml"
REHEARSED: tuple[str, ...] = (SETTINGS,)


def find_place(environ: Mapping[str, str]) -> Place:
    """Where Codex keeps its settings, and its command if there is one."""
    config = environ.get(ROOT_VARIABLE) or user_home(environ) / HOME_FOLDER
    return Place(NAME, TITLE, find_command(COMMAND, environ), Path(config))


def inspect(place: Place, marketplace: Path, rendered: Mapping[str, bytes]) -> Installed:
    """What the settings say, and whether the cached copy is the folder as it is now."""
    try:
        config = _parse(place, _text(place))
    except InvalidArgument as error:
        return Installed("broken", error.message, error.details.get("file", ""))
    source = table_in(table_in(config, "marketplaces"), MARKETPLACE).get("source")
    plugin = table_in(table_in(config, "plugins"), PLUGIN_ID)
    if not source and not plugin:
        return Installed("absent")
    if plugin.get("enabled") is False:
        return Installed("disabled", f"set enabled = true in {_file(place)} if you want it")
    wanted = {
        name.removeprefix(f"{PLUGIN}/"): content
        for name, content in rendered.items()
        if name.startswith(f"{PLUGIN}/")
    }
    is_current = source == str(marketplace) and plugin and _cached(place) == wanted
    return Installed("installed" if is_current else "outdated")


def note_before(place: Place) -> Before:
    """What `remove` must know later."""
    plugins = place.config / "plugins"
    absent = [f"plugins/{name}" for name in ("", "cache", "data") if not (plugins / name).exists()]
    if "state" not in table_in(_parse(place, _text(place)), "hooks"):
        absent.append(HOOK_STATE)
    return Before(sha256_of(_file(place)), tuple(absent))


def install(place: Place, marketplace: Path, environ: Mapping[str, str]) -> None:
    """Add marketplace and plugin; raise before anything is done when settings are broken."""
    config = _parse(place, _text(place))
    source = table_in(table_in(config, "marketplaces"), MARKETPLACE).get("source")
    with _kept_mode(_file(place)):
        if source not in (None, str(marketplace)):
            run_client([place.command, "plugin", "marketplace", "remove", MARKETPLACE], environ)
        run_client([place.command, "plugin", "marketplace", "add", str(marketplace)], environ)
        run_client([place.command, "plugin", "add", PLUGIN_ID], environ)


def remove(place: Place, before: Before | None, environ: Mapping[str, str]) -> bool:
    """Take our entries and our hooks' trust out, also when the command is gone."""
    text = _text(place)
    try:
        config = _parse(place, text)
    except InvalidArgument:
        if PLUGIN_ID in text:
            raise
        return False
    had_entries = bool(
        table_in(table_in(config, "marketplaces"), MARKETPLACE)
        or table_in(table_in(config, "plugins"), PLUGIN_ID)
    )
    with _kept_mode(_file(place)):
        if place.client and had_entries:
            for arguments in (["remove", PLUGIN_ID], ["marketplace", "remove", MARKETPLACE]):
                with suppress(Internal):
                    run_client([place.client, "plugin", *arguments], environ)
        _settle(place, before)
    plugins = place.config / "plugins"
    remove_tree(plugins / "cache" / MARKETPLACE)
    remove_tree(plugins / "data" / f"{PLUGIN}-{MARKETPLACE}")
    ours = before.absent if before else ()
    remove_if_empty(*(plugins / name for name in ("cache", "data") if f"plugins/{name}" in ours))
    if "plugins/" in ours:
        remove_if_empty(plugins)
    return had_entries


def plugin_folder(place: Place, _marketplace: Path) -> Path | None:
    """What CLAUDE_PLUGIN_ROOT names in a hook: the copy in Codex's cache, if there is just one."""
    versions = place.config / "plugins" / "cache" / MARKETPLACE / PLUGIN
    folders = sorted(versions.iterdir()) if versions.is_dir() else []
    return folders[0] if len(folders) == 1 else None


def _settle(place: Place, before: Before | None) -> None:
    """Remove what the commands left; end with the very bytes of before where only we wrote."""
    file = _file(place)
    text = _text(place)
    if not file.exists():
        return
    rest = without_tables(text, is_ours)
    if before and HOOK_STATE in before.absent:
        state = table_in(_parse(place, rest), "hooks").get("state")
        if state == {}:
            rest = without_tables(rest, lambda header: header == ("hooks", "state"))
    for candidate in former_texts(rest):
        if before and hashlib.sha256(candidate.encode()).hexdigest() == before.sha256:
            rest = candidate
            break
    if before is not None and before.sha256 is None and not rest.strip():
        file.unlink()
    elif rest != text:
        _parse(place, rest)
        replace_file(file, rest.encode())


@contextmanager
def _kept_mode(file: Path) -> Iterator[None]:
    """Give the file its mode back: Codex closes it to 0600 with every write."""
    mode = file.stat().st_mode if file.exists() else None
    try:
        yield
    finally:
        if mode is not None and file.exists() and file.stat().st_mode != mode:
            file.chmod(mode & 0o7777)


def _cached(place: Place) -> dict[str, bytes] | None:
    folder = plugin_folder(place, Path())
    return read_folder(folder) if folder else None


def _file(place: Place) -> Path:
    return place.config / SETTINGS


def _text(place: Place) -> str:
    try:
        return _file(place).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{_file(place)} cannot be read ({plain_reason(error)}); it was left alone.",
            file=str(_file(place)),
        ) from None


def _parse(place: Place, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(
            f"{_file(place)} is not valid TOML ({error}); it was left alone. Correct it, then run "
            "`mash init` again.",
            file=str(_file(place)),
        ) from None
