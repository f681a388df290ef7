"""Install the plugin into Claude Code with its own commands, and take it out again.

Seen in 2.1.332: a folder marketplace is read in place; `settings.json` with comments is
refused; every write reorders that file, so its text is edited back to the person's layout;
`uninstall` leaves empty tables, the cache and the data folder behind.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mash_plugin.agents import json_text
from mash_plugin.agents.claude import COMMAND, NAME, permission
from mash_plugin.agents.claude import HOME_FOLDER as HOME_FOLDER
from mash_plugin.agents.claude import ROOT_VARIABLE as ROOT_VARIABLE
from mash_plugin.agents.claude import ROOTS_KEY as ROOTS_KEY
from mash_plugin.agents.claude import TITLE as TITLE
from mash_plugin.agents.claude.listing import UPDATE as UPDATE
from mash_plugin.agents.claude.listing import list_plugins as list_plugins
from mash_plugin.agents.claude.listing import remove_command as remove_command
from mash_plugin.agents.claude.permission import allow_saving as allow_saving
from mash_plugin.agents.claude.permission import may_save as may_save
from mash_plugin.agents.commands import run_client
from mash_plugin.agents.plugin import (
    MARKETPLACE,
    PLUGIN,
    PLUGIN_ID,
    Before,
    HookTrust,
    Installed,
    Place,
    find_command,
    remove_if_empty,
    remove_tree,
    sha256_of,
    table_in,
    user_home,
)
from mash_plugin.errors import Internal, InvalidArgument
from mash_plugin.file_writing import replace_file

REVIEW = ""
REVIEW_COMMAND = "set `disableAllHooks` to false in Claude Code's settings.json"
MARKETPLACES = "extraKnownMarketplaces"
PLUGINS = "enabledPlugins"
DECLINED = "declinedPlugins"
USED = "pluginUsage"
HOOKS_FILE = "hooks/hooks.json"
SETTINGS = "settings.json"
KNOWN = "plugins/known_marketplaces.json"
INSTALLED = "plugins/installed_plugins.json"
REHEARSED: tuple[str, ...] = (SETTINGS, KNOWN, INSTALLED)
FOLDERS = ("cache", "data", "marketplaces")
BLANKS = (b"", b"\n", b"\r\n")
"""Files without any JSON, which Claude Code takes for `{}`."""
OURS = ((MARKETPLACES, MARKETPLACE), (PLUGINS, PLUGIN_ID))


def find_place(environ: Mapping[str, str]) -> Place:
    """Where Claude Code keeps its settings, and its command if there is one."""
    config = environ.get(ROOT_VARIABLE) or user_home(environ) / HOME_FOLDER
    return Place(NAME, TITLE, find_command(COMMAND, environ), Path(config))


def inspect(
    place: Place,
    marketplace: Path,
    rendered: Mapping[str, bytes],  # noqa: ARG001 - the hosts' common shape
) -> Installed:
    """What the settings say; Claude Code reads the folder in place, so it is never outdated."""
    try:
        settings = _read(_settings_file(place))
        known = _read(_known_file(place))
        installed = _read(_installed_file(place))
    except InvalidArgument as error:
        return Installed("broken", error.message, error.details.get("file", ""))
    source = table_in(table_in(table_in(settings, MARKETPLACES), MARKETPLACE), "source")
    enabled = table_in(settings, PLUGINS).get(PLUGIN_ID)
    is_known = (
        source.get("path") == str(marketplace)
        and MARKETPLACE in known
        and PLUGIN_ID in table_in(installed, "plugins")
    )
    if enabled is False:
        return Installed("disabled", f"run `claude plugin enable {PLUGIN_ID}` if you want it")
    if enabled is True and is_known:
        return Installed("installed")
    return Installed("outdated" if enabled or source else "absent")


def plugin_folder(_place: Place, marketplace: Path) -> Path | None:
    """What CLAUDE_PLUGIN_ROOT names in a hook: a folder marketplace is read in place."""
    return marketplace / PLUGIN


def hook_trust(place: Place, _environ: Mapping[str, str]) -> list[HookTrust]:
    """Hooks that Claude Code would not run; it trusts those of a plugin by its installation."""
    is_off = _read(_settings_file(place)).get("disableAllHooks") is True
    return [HookTrust("all hooks", "disableAllHooks is set", is_enabled=False)] if is_off else []


def note_before(place: Place) -> Before:
    """What `remove` must know later."""
    settings = _read(_settings_file(place))
    absent = [name for name in (MARKETPLACES, PLUGINS) if name not in settings]
    absent += permission.absent_before(settings)
    plugins = place.config / "plugins"
    names = ("", *FOLDERS, _known_file(place).name, _installed_file(place).name)
    absent += [f"plugins/{name}" for name in names if not (plugins / name).exists()]
    return Before(sha256_of(_settings_file(place)), tuple(absent))


def install(place: Place, marketplace: Path, environ: Mapping[str, str]) -> None:
    """Add marketplace and plugin; raise before anything is done when settings are broken."""
    file = _settings_file(place)
    _read(file)
    before = _text(file) if file.exists() else None
    known = table_in(table_in(_read(_known_file(place)), MARKETPLACE), "source").get("path")
    if known not in (None, str(marketplace)):
        run_client([place.command, "plugin", "marketplace", "remove", MARKETPLACE], environ)
    run_client([place.command, "plugin", "marketplace", "add", str(marketplace)], environ)
    run_client([place.command, "plugin", "install", PLUGIN_ID, "--scope", "user"], environ)
    if before is not None:
        _keep_layout(file, before)


def remove(place: Place, before: Before | None, environ: Mapping[str, str]) -> bool:
    """Take our entries out, also when the command is gone; True when there was something."""
    file = _settings_file(place)
    was = inspect(place, Path(), {})
    if was.state == "broken":
        if not _mentions_us(place):
            return False
        raise InvalidArgument(f"{was.detail} Nothing was removed from {TITLE}.")
    wanted = _without_ours(file, before)
    if place.client and was.state != "absent":
        for arguments in (
            ["uninstall", PLUGIN_ID, "--scope", "user"],
            ["marketplace", "remove", MARKETPLACE],
        ):
            _try_client([place.client, "plugin", *arguments], environ)
    _settle(file, wanted, before)
    _clean_state(place, environ)
    _remove_leftovers(place, before)
    return was.state != "absent"


def _mentions_us(place: Place) -> bool:
    for file in (_settings_file(place), _known_file(place), _installed_file(place)):
        try:
            if PLUGIN_ID.encode() in file.read_bytes():
                return True
        except OSError:
            continue
    return False


def _keep_layout(file: Path, before: str) -> None:
    """Put our entries into the text as the person wrote it, if that says the same."""
    if not before.strip():
        return
    now, then = json.loads(_text(file)), _parsed(before)
    text = before
    for path in OURS:
        value = table_in(now, path[0]).get(path[1])
        if value not in (None, table_in(then, path[0]).get(path[1])):
            text = json_text.insert(json_text.remove(text, path), path, value)
    if json.loads(text) == now:
        replace_file(file, text.encode())


def _without_ours(file: Path, before: Before | None) -> str | None:
    if not file.exists():
        return None
    text = _text(file)
    for table, key in OURS:
        text = json_text.remove(text, (table, key))
        if _parsed(text).get(table) == {} and (before is None or table in before.absent):
            text = json_text.remove(text, (table,))
    return permission.remove_rule(text, before)


def _settle(file: Path, wanted: str | None, before: Before | None) -> None:
    """Give the file the text without our entries; drop it when only we had made it."""
    now = _without_ours(file, before)
    if now is None:
        return
    text = wanted if wanted is not None and _parsed(wanted) == _parsed(now) else now
    if before is not None and _parsed(text) == {}:
        if before.sha256 is None:
            file.unlink()
            return
        blank = next((b for b in BLANKS if hashlib.sha256(b).hexdigest() == before.sha256), None)
        text = text if blank is None else blank.decode()
    if text != _text(file):
        replace_file(file, text.encode())


def _clean_state(place: Place, environ: Mapping[str, str]) -> None:
    """What Claude Code noted by itself: how often the plugin was used, and that it was declined."""
    folder = place.config if ROOT_VARIABLE in environ else user_home(environ)
    file = folder / ".claude.json"
    try:
        before = _text(file)
        declined = _parsed(before).get(DECLINED)
    except (OSError, ValueError):
        return
    text = json_text.remove(before, (USED, PLUGIN_ID))
    if _parsed(text).get(USED) == {}:
        text = json_text.remove(text, (USED,))
    if isinstance(declined, list) and PLUGIN_ID in declined:
        text = json_text.remove(text, (DECLINED,))
        left = [name for name in declined if name != PLUGIN_ID]
        text = json_text.insert(text, (DECLINED,), left) if left else text
    if text != before:
        replace_file(file, text.encode())


def _remove_leftovers(place: Place, before: Before | None) -> None:
    plugins = place.config / "plugins"
    for path, keys in (
        (_known_file(place), (MARKETPLACE,)),
        (_installed_file(place), ("plugins", PLUGIN_ID)),
    ):
        if path.exists():
            text = _text(path)
            shorter = json_text.remove(text, keys)
            if shorter != text:
                replace_file(path, shorter.encode())
    remove_tree(plugins / "cache" / MARKETPLACE)
    remove_tree(plugins / "data" / f"{PLUGIN}-{MARKETPLACE}")
    ours = before.absent if before else ()
    for path in (_known_file(place), _installed_file(place)):
        if f"plugins/{path.name}" in ours and path.exists() and not _holds_anything(_read(path)):
            path.unlink()
    remove_if_empty(*(plugins / name for name in FOLDERS if f"plugins/{name}" in ours))
    if "plugins/" in ours:
        remove_if_empty(plugins)


def _holds_anything(table: Mapping[str, Any]) -> bool:
    return any(value for key, value in table.items() if key != "version")


def _try_client(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """Run it; what it cannot do is done on the files afterwards."""
    with suppress(Internal):
        run_client(list(command), environ)


def _settings_file(place: Place) -> Path:
    return place.config / SETTINGS


def _known_file(place: Place) -> Path:
    return place.config / KNOWN


def _installed_file(place: Place) -> Path:
    return place.config / INSTALLED


def _text(file: Path) -> str:
    """The file with its own line ends."""
    return file.read_bytes().decode("utf-8")


def _read(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(_text(file).strip() or "{}")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"{file} is not valid JSON ({error}); it was left alone. Correct it (no comments), "
            "then run `mash init` again.",
            file=str(file),
        ) from None
    if not isinstance(value, dict):
        raise InvalidArgument(
            f"{file} does not hold a JSON object; it was left alone.", file=str(file)
        )
    return value


def _parsed(text: str) -> dict[str, Any]:
    value = json.loads(text.strip() or "{}")
    return value if isinstance(value, dict) else {}
