"""What `mash init` does, step by step; each may be the last, and a second run goes on from it."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mash_plugin.cli.memo import add_memo
from mash_plugin.cli.pins import (
    add_roots,
    sessions_folder,
    set_personal,
    set_sessions,
    unseen_roots,
    write_pins,
)
from mash_plugin.cli.plugin import write_folder
from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.found import Found, find_agents
from mash_plugin.cli.wizard.plan import Choices, Plan, personal_at_start
from mash_plugin.cli.wizard.unbroken import unbroken
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.paths import Paths
from mash_plugin.syncing import make_private


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the agents."""

    working: list[Found]
    """Those that have the plugin now."""
    changed: list[Found]
    """Those among them that must be started anew."""
    has_failed: bool


def set_up(plan: Plan, choices: Choices) -> Done:
    """Do everything but the backfill; a broken agent does not stop the others."""
    with _only_one(plan.paths):
        # Another init may have been at work since these were looked at.
        agents = find_agents(plan.paths, plan.rendered) if choices.wants_agents else []
        return _set_up(replace(plan, agents=agents), choices)


def _set_up(plan: Plan, choices: Choices) -> Done:
    write_pins(os.environ)
    paths = plan.paths
    if choices.personal is not None and choices.personal is not personal_at_start(paths):
        set_personal(paths.config_file, choices.personal)
    if choices.sessions is not None:
        set_sessions(paths.config_file, choices.sessions, sessions_folder(paths))
    is_upgrade = _set_up_store(paths)
    if choices.wants_index:
        from mash_plugin.cli.index import run_index

        tell(run_index())
    if not plan.agents:
        return Done([], [], has_failed=False)
    # Their tool servers run the former version until the agents are started anew.
    has_new = write_folder(plan.rendered, plan.folder) or is_upgrade
    working = [one for one in plan.agents if installs(plan, one)]
    has_rules = not choices.may_save or _allow_saving(working)
    changed = [one for one in working if one.is_due or has_new]
    return Done(working, changed, len(working) < len(plan.agents) or not has_rules)


@contextmanager
def _only_one(paths: Paths) -> Iterator[None]:
    """Wait for another init: what an agent's settings were before is noted by the first alone."""
    make_private(paths.run)
    lock = os.open(os.path.join(paths.run, "setup.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Another `mash init` is at work; this one waits for it ...", err=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _set_up_store(paths: Paths) -> bool:
    """Whether a daemon of another build was replaced."""
    from mash_plugin import client, wire

    added = add_roots(paths.config_file, unseen_roots(os.environ))
    is_upgrade = replace_other_daemon(paths)
    if problem := client.call("ping", {}, paths=paths)["problem"]:
        raise wire.rebuilt(problem)
    tell(f"Store: {paths.store}")
    for root in added:
        tell(f"Chats are also read from {root} (noted in {paths.config_file}).")
    return is_upgrade


def replace_other_daemon(paths: Paths) -> bool:
    """After an upgrade the former daemon ends when its work is done; hooks reach the new one."""
    from mash_plugin.cli.running import find_running
    from mash_plugin.cli.stopping import end_daemon

    running = find_running(paths)
    if running is None or running.is_this:
        return False
    end_daemon(paths)
    tell(f"The daemon is replaced; the former was {running.name}.")
    return True


def installs(plan: Plan, one: Found) -> bool:
    """Whether this agent has the plugin now; what went wrong is told."""
    try:
        with unbroken():
            _install_into(plan, one)
    except MashError as error:
        tell(f"mash: {one.title}: {error.message}", err=True)
        return False
    except Exception as error:  # one agent's failure never keeps another from its plugin
        text = f"{type(error).__name__}: {error}"
        tell(f"mash: {one.title}: the plugin was not installed ({text})", err=True)
        return False
    return True


def _install_into(plan: Plan, one: Found) -> None:
    if one.installed.state == "broken":
        raise InvalidArgument(one.installed.detail)
    if one.is_due:
        tell(f"{one.title}: installing the plugin ...", err=True)
        add_memo(plan.paths, one.place, one.host.note_before(one.place))
        one.host.install(one.place, plan.folder, os.environ)
        tell(f"{one.title}: plugin installed")
    else:
        detail = f" ({one.installed.detail})" if one.installed.detail else ""
        tell(f"{one.title}: plugin is {one.installed.state} already{detail}")


def _allow_saving(working: Iterable[Found]) -> bool:
    """Add the rule to every agent that has the plugin; whether that could be done."""
    has_all = True
    for one in working:
        if one.host.may_save(one.place):
            continue
        try:
            one.host.allow_saving(one.place)
            tell(f"{one.title}: it uses the tools of mash without asking now.")
        except MashError as error:
            has_all = False
            tell(f"mash: {one.title}: {error.message}", err=True)
    return has_all
