"""Each agent: its version, its own list of plugins, and whether it runs our hooks.

What only the agent knows is asked of the agent, with a time-out; what its files say is read.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shlex import quote

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.listing import TRIED, Listed, version_from, version_of
from mash_plugin.agents.plugin import PLUGIN, PLUGIN_ID, Place, read_folder
from mash_plugin.doctor.finding import Finding, Severity
from mash_plugin.doctor.machine import Machine
from mash_plugin.doctor.program import hook_command
from mash_plugin.doctor.words import edit_line, own_words
from mash_plugin.errors import MashError

INIT = "mash init"
RUNS = ("trusted", "managed")
NOT_REVIEWED = "untrusted"


def check_folder(machine: Machine) -> Iterator[Finding]:
    """The folder that the agents install, against what this version makes of it."""
    folder = Path(machine.paths.marketplace)
    if not folder.is_dir():
        if any(host.find_place(machine.environ).client for host in HOSTS):
            text = "no agent was set up yet: there is no plugin folder"
            yield Finding("folder-missing", "note", text, "agents have no memory", INIT)
    elif read_folder(folder) == machine.rendering().files:
        yield Finding("folder", "ok", str(folder))
    else:
        text = f"{folder} is not what this version makes"
        why = "a file was changed there, or mash was upgraded; Codex asks to review it again"
        yield Finding("folder-differs", "error", text, why, INIT)


def check_agents(machine: Machine) -> Iterator[Finding]:
    """All agents at once: each of their commands takes a while."""
    with ThreadPoolExecutor(len(HOSTS)) as pool:
        for found in pool.map(lambda host: list(_check(machine, host)), HOSTS):
            yield from found


def _check(machine: Machine, host: Host) -> Iterator[Finding]:
    place = host.find_place(machine.environ)
    if place.client is None:
        text = f"{host.TITLE}: its command is not on PATH"
        yield Finding("agent-not-found", "note", text, f"once it is, `{INIT}` sets it up")
        return
    version = _version(machine, host, place)
    yield version
    if version.name == "agent-silent":
        return
    folder = Path(machine.paths.marketplace)
    installed = host.inspect(place, folder, read_folder(folder))
    match installed.state:
        case "broken":
            text = f"{host.TITLE}: {own_words(installed.detail)}"
            why, line = "the agent may not start either", edit_line(installed.file)
            yield Finding("agent-settings-broken", "error", text, why, line)
            return
        case "disabled":
            text, why = f"{host.TITLE}: the plugin is switched off", "you, or the agent, did that"
            yield Finding("plugin-off", "note", text, why, installed.detail)
            return
        case "absent":
            text = f"{host.TITLE}: the plugin is not installed in {place.config}"
            yield Finding("plugin-absent", "error", text, "it has no memory", INIT)
            return
        case "outdated":
            text = f"{host.TITLE}: the plugin in {place.config} is not the one of this mash"
            why = "its copy is older, or it comes from another folder"
            yield Finding("plugin-outdated", "error", text, why, INIT)
    yield from _check_list(machine, host, place, installed.state == "installed")
    yield from _check_trust(machine, host, place)


def _version(machine: Machine, host: Host, place: Place) -> Finding:
    tried = TRIED[place.agent]
    try:
        found = version_of(place.command, machine.environ)
    except MashError as error:
        why = "its command does not work: nothing else can be asked of it"
        text = f"{host.TITLE}: {error.message}"
        return Finding("agent-silent", "warning", text, why, f"{quote(place.command)} --version")
    shown = ".".join(map(str, found))
    if found < version_from(tried):
        text = f"{host.TITLE} {shown} is older than {tried}, which mash was tried with"
        why = "its hooks or transcripts may differ"
        return Finding("agent-old", "warning", text, why, host.UPDATE)
    if found > version_from(tried):
        text = f"{host.TITLE} {shown} is newer than {tried}, which mash was tried with"
        return Finding("agent-new", "ok", text)
    return Finding("agent", "ok", f"{host.TITLE} {shown}, as tried")


def _check_list(machine: Machine, host: Host, place: Place, is_current: bool) -> Iterator[Finding]:
    """The agent's own list: our plugin once, switched on, from our folder."""
    try:
        listed = host.list_plugins(place, machine.environ)
    except MashError as error:
        text = f"{host.TITLE}: {error.message}"
        line = f"{quote(place.command)} plugin list"
        yield Finding("plugins-not-listed", "warning", text, "only its files were looked at", line)
        return
    own = next((one for one in listed if one.plugin_id == PLUGIN_ID), None)
    if own is None:
        text = f"{host.TITLE} does not list the plugin, though its settings name it"
        yield Finding("plugin-not-listed", "error", text, "it is not loaded", INIT)
    elif not own.is_enabled:
        text = f"{host.TITLE} lists the plugin as switched off"
        line = f"look into the settings of {host.TITLE}, also those of this project"
        yield Finding("plugin-listed-off", "note", text, "one of its settings says so", line)
    elif own.source and not _is_in(own.source, machine.paths.marketplace):
        text = f"{host.TITLE} loads the plugin from {own.source}"
        why = f"{_home_of(own.source)}; this one is {machine.paths.marketplace}"
        yield Finding("hooks-of-another-home", "error", text, why, INIT)
    elif is_current:
        yield Finding("plugin", "ok", f"{host.TITLE}: installed, switched on, listed")
    yield from _check_twice(host, listed)


def _check_twice(host: Host, listed: list[Listed]) -> Iterator[Finding]:
    for one in listed:
        is_ours = one.plugin_id.startswith(f"{PLUGIN}@") and one.plugin_id != PLUGIN_ID
        if is_ours and one.is_enabled and hook_command(Path(one.source or "/nowhere")):
            text = f"{host.TITLE} has the plugin twice: {PLUGIN_ID} and {one.plugin_id}"
            why = "every hook runs twice, and agents see each tool twice"
            line = host.remove_command(one.plugin_id)
            yield Finding("plugin-twice", "warning", text, why, line)


def _check_trust(machine: Machine, host: Host, place: Place) -> Iterator[Finding]:
    try:
        hooks = host.hook_trust(place, machine.environ)
    except MashError as error:
        text, why = f"{host.TITLE}: {error.message}", "whether hooks run is not known"
        yield Finding("hooks-not-listed", "warning", text, why, host.REVIEW_COMMAND)
        return
    off = [hook for hook in hooks if hook.status not in RUNS or not hook.is_enabled]
    if off:
        states = ", ".join(sorted({hook.status if hook.is_enabled else "off" for hook in off}))
        text = f"{host.TITLE}: {len(off)} of {len(hooks)} hooks do not run ({states})"
        why = "the agent skips them without a word: nothing is shown and nothing is asked"
        # Every set up comes by here: the review is the person's next step, not a fault.
        is_new = all(hook.status == NOT_REVIEWED and hook.is_enabled for hook in off)
        severity: Severity = "warning" if is_new else "error"
        yield Finding("hooks-off", severity, text, why, host.REVIEW_COMMAND)
    elif hooks:
        yield Finding("hooks", "ok", f"{host.TITLE}: all {len(hooks)} hooks are trusted")


def _is_in(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def _home_of(source: str) -> str:
    command = hook_command(Path(source))
    if not command:
        return "nothing is there any more"
    home = command[-1]
    return "it belongs to the ordinary home" if home == "-" else f"it belongs to MASH_HOME={home}"
