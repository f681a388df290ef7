"""What `mash init` is going to do, and what is so already; told before anything is changed."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mash_plugin.agents import AGENTS, HOOKED
from mash_plugin.agents.hosts import HOSTS
from mash_plugin.cli.pins import planned_paths, unseen_roots
from mash_plugin.cli.plugin import launch_of, render, source_folder
from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.found import Chats, Found, find_agents, find_chats
from mash_plugin.config import check_settings, read_settings, read_tables
from mash_plugin.paths import Paths
from mash_plugin.store.network import refuse_network


@dataclass(frozen=True, slots=True)
class Choices:
    """What the flags say; None where the person is to be asked, or with --yes left as it is."""

    is_unattended: bool = False
    has_agreed: bool = False
    """Whether the person said yes to the plan of scripts/install, which is this one."""
    wants_index: bool = True
    wants_agents: bool = True
    may_save: bool | None = None
    """Whether the agents get the rule that lets them use mash without asking."""
    personal: bool | None = None
    """Whether personal preferences are shown at the start of every session."""
    sessions: bool | None = None
    """Whether ended sessions become working memories; never asked for by itself."""
    reviewer: str | None = None
    """The agent that reviews earlier chats, unasked."""
    may_offer_backfill: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything goes, what was found, and what the plugin's folder will hold."""

    paths: Paths
    rendered: Mapping[str, bytes]
    agents: list[Found]
    chats: dict[str, Chats]

    @property
    def folder(self) -> Path:
        """What all agents install the plugin from."""
        return Path(self.paths.marketplace)

    @property
    def new_roots(self) -> list[str]:
        """Transcript folders that the settings of mash do not name yet."""
        settings = read_settings(self.paths.config_file, {})
        unseen = unseen_roots(os.environ).items()
        return [root for key, root in unseen if root not in settings.chat_roots(key)]


def make_plan(choices: Choices) -> Plan:
    """Look at this machine; nothing is written.

    Raises InvalidArgument on broken settings, UnsafePlace for a new store on a network.
    """
    paths = planned_paths(os.environ)
    if not os.path.lexists(paths.store):
        refuse_network(paths)
    check_settings(paths.config_file)
    rendered = render(source_folder(), launch_of(paths))
    agents = find_agents(paths, rendered) if choices.wants_agents else []
    return Plan(paths, rendered, agents, find_chats(paths))


def tell_plan(plan: Plan, choices: Choices) -> None:
    """Say what was found, what is so already and what will be done."""
    tell("Found on this machine:")
    for line in _found_lines(plan, choices):
        tell(f"  {line}")
    if settled := list(_settled_lines(plan)):
        tell("\nSet up already:")
        for line in settled:
            tell(f"  - {line}")
    tell("\nmash will set up, where it is missing:")
    for line in list(_due_lines(plan, choices)) or ["nothing: all of it is there"]:
        tell(f"  - {line}")
    if not choices.reviewer:
        tell("Nothing of this leaves your machine.")
    tell("`mash uninstall` leaves the agents as they were.\n")


def personal_at_start(paths: Paths) -> bool | None:
    """What the settings say about personal preferences at the start; None for nothing."""
    tables, _ = read_tables(paths.config_file)
    recall = (tables or {}).get("recall")
    if not isinstance(recall, dict) or "personal_at_start" not in recall:
        return None
    return read_settings(paths.config_file, {}).personal_at_start


def _found_lines(plan: Plan, choices: Choices) -> Iterator[str]:
    for host in HOSTS:
        place = host.find_place(os.environ)
        chats = plan.chats.get(place.agent, Chats()).words()
        if not choices.wants_agents:
            yield f"{host.TITLE}: {chats}"
        elif place.client is None:
            yield f"{host.TITLE}: {chats}; its command is not on PATH, so it is left out"
        else:
            yield f"{host.TITLE} ({place.client}): {chats}"
    unseen = unseen_roots(os.environ)
    for name in AGENTS.keys() - HOOKED.keys():
        found = plan.chats.get(name, Chats())
        if found.count or AGENTS[name].ROOTS_KEY in unseen:
            yield f"{AGENTS[name].TITLE}: {found.words()}; nothing is installed into it"


def _settled_lines(plan: Plan) -> Iterator[str]:
    if os.path.exists(plan.paths.store):
        yield f"the store in {plan.paths.data}"
    for one in plan.agents:
        if one.installed.state == "installed":
            rule = ", which uses mash without asking you" if one.host.may_save(one.place) else ""
            yield f"the plugin in {one.title}{rule}"
        elif one.installed.state == "disabled":
            yield f"the plugin in {one.title}, switched off by you ({one.installed.detail})"
    if (wanted := personal_at_start(plan.paths)) is not None:
        word = "shown" if wanted else "not shown"
        yield f"personal preferences: {word} at the start of every session"
    if captures_sessions(plan.paths):
        yield "working memories of sessions that ended"


def _due_lines(plan: Plan, choices: Choices) -> Iterator[str]:
    if not os.path.exists(plan.paths.store):
        yield f"the store, with daily backups, in {plan.paths.data}"
    for root in plan.new_roots:
        yield f"{root} among the folders of your chats (in {plan.paths.config_file})"
    if choices.wants_index:
        yield "an index of these chats; only what is new is read"
    for one in plan.agents:
        if one.is_due:
            which = "newer plugin" if one.installed.state == "outdated" else "plugin"
            yield f"its {which} in {one.title} (in {one.settings_file}, by its own command)"
        elif one.installed.state == "broken":
            yield f"nothing in {one.title}: {one.installed.detail}"
        if choices.may_save and not one.host.may_save(one.place):
            yield f"a rule in {one.settings_file}, so that {one.title} uses mash without asking"
    yield from _changed_settings(plan, choices)
    if choices.reviewer:
        yield f"candidates from your last chats, which {choices.reviewer} reviews"


def captures_sessions(paths: Paths) -> bool:
    """Whether the settings say that ended sessions become working memories."""
    return read_settings(paths.config_file, {}).capture_sessions


def _changed_settings(plan: Plan, choices: Choices) -> Iterator[str]:
    if choices.personal is not None and choices.personal is not personal_at_start(plan.paths):
        word = "shown" if choices.personal else "not shown"
        yield f"personal preferences: {word} at the start of every session"
    if choices.sessions is not None and choices.sessions is not captures_sessions(plan.paths):
        word = "kept from now on" if choices.sessions else "not kept any more"
        yield f"working memories of sessions that ended: {word} (in {plan.paths.config_file})"
