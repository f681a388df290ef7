"""What init writes down for later: where data and transcripts lie, and what the person answered."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from mash_plugin.agents import AGENTS, HOOKED, own_root
from mash_plugin.agents.plugin import find_command, user_home
from mash_plugin.errors import InvalidArgument
from mash_plugin.file_writing import replace_file
from mash_plugin.paths import Paths, find_paths, may_be_brought, passwd_home, pin_file
from mash_plugin.settings_file import Table, edit_settings, subtable


def planned_paths(environ: Mapping[str, str]) -> Paths:
    """The paths as they will be once `write_pins` has run; nothing is written."""
    paths = find_paths(environ)
    if paths.home is not None or os.path.exists(pin_file()):
        return paths
    pins = _new_pins()
    config_file = os.path.join(pins["config"], "config.toml")
    return paths._replace(config_file=config_file, data=pins["data"])


def write_pins(environ: Mapping[str, str]) -> None:
    """Write paths.json once, as platformdirs sees the places now; under MASH_HOME nothing."""
    file = Path(pin_file())
    if environ.get("MASH_HOME") or file.exists():
        return
    replace_file(file, json.dumps(_new_pins(), indent=1).encode() + b"\n", 0o644)


def _new_pins() -> dict[str, str]:
    import platformdirs

    account = passwd_home()
    home = os.environ.get("HOME") or account
    if os.path.realpath(home) != os.path.realpath(account):
        # A passing HOME (a test, a container, sudo) must not be pinned for the account for ever.
        if sys.platform == "darwin":
            folder = os.path.join(account, "Library", "Application Support", "mash")
            return {"config": folder, "data": folder}
        return {
            "config": os.path.join(account, ".config", "mash"),
            "data": os.path.join(account, ".local", "share", "mash"),
        }
    return {
        "config": platformdirs.user_config_dir("mash", appauthor=False),
        "data": platformdirs.user_data_dir("mash", appauthor=False),
    }


def unseen_roots(environ: Mapping[str, str]) -> dict[str, str]:
    """Transcript roots of this environment, by key, that the daemon would not find by itself."""
    roots = {}
    for agent in AGENTS.values():
        root = own_root(agent, environ, str(user_home(environ)))
        own = os.path.join(passwd_home(), agent.HOME_FOLDER)
        # The folder of an agent that is set up here is made later; any other has chats or has none.
        is_due = agent.NAME in HOOKED and find_command(agent.COMMAND, environ) is not None
        is_seen = (is_due or os.path.isdir(root)) and not may_be_brought(root)
        if is_seen and os.path.realpath(root) != os.path.realpath(own):
            roots[agent.ROOTS_KEY] = _noted(os.path.abspath(root))
    return roots


def _noted(root: str) -> str:
    """The root, if settings can hold its name. Raises InvalidArgument."""
    try:
        root.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"{root!r}, which holds an agent's chats, is no UTF-8: the settings of mash cannot name"
            " it. Rename that folder."
        ) from error
    return root


def add_roots(config_file: str, roots: Mapping[str, str]) -> list[str]:
    """Add each root to `[chats.roots]`, every other line kept; the roots that were new."""
    added = []

    def add(document: Table) -> None:
        table = subtable(document, "chats", "roots")
        for key, root in roots.items():
            known = table.get(key, [])
            known = [known] if isinstance(known, str) else list(known)
            if root not in known:
                table[key] = [*known, root]
                added.append(root)

    if roots:
        edit_settings(config_file, add)
    return added


def set_personal(config_file: str, is_wanted: bool) -> None:
    """Note whether personal preferences are shown at the start of a session."""

    def note(document: Table) -> None:
        subtable(document, "recall")["personal_at_start"] = is_wanted

    edit_settings(config_file, note)


def sessions_folder(paths: Paths) -> str:
    """Where the working memories of the agents' sessions lie unless the person says otherwise."""
    return os.path.join(paths.data, "throughline")


def set_sessions(config_file: str, is_wanted: bool, workspace: str) -> None:
    """Note whether the agents' sessions become working memories, and whose and where they are."""

    def note(document: Table) -> None:
        table = subtable(document, "throughline")
        table["capture_sessions"] = is_wanted
        if is_wanted:
            table.setdefault("agent", "coding-agents")
            table.setdefault("workspace", workspace)

    edit_settings(config_file, note)
