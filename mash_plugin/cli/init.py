"""`mash init`: store, index and every agent found; running it again changes nothing more."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from mash_plugin.agents.hosts import HOSTS, Host
from mash_plugin.agents.plugin import Installed, Place
from mash_plugin.cli.memo import add_memo
from mash_plugin.cli.pins import (
    add_roots,
    planned_paths,
    set_personal,
    unseen_roots,
    write_pins,
)
from mash_plugin.cli.plugin import launch_of, render, source_folder, write_folder
from mash_plugin.config import check_settings, read_tables
from mash_plugin.errors import InvalidArgument, MashError
from mash_plugin.paths import Paths

EXAMPLE = """\
Try it: tell an agent a decision, such as "We use tabs here from now on, that's decided."
The next session, in either agent, is reminded of it by itself. `mash status` shows how it goes."""


@dataclass(frozen=True, slots=True)
class Found:
    """A host on this machine and what its settings say."""

    host: Host
    place: Place
    installed: Installed

    @property
    def is_due(self) -> bool:
        return self.installed.state in ("absent", "outdated")


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-index", is_flag=True, help="Leave the chats unread for now.")
@click.option("--no-agents", is_flag=True, help="Install into no agent.")
@click.option("--allow-saving", is_flag=True, help="Let the agents use mash without asking you.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
def init(yes: bool, no_index: bool, no_agents: bool, allow_saving: bool, dry_run: bool) -> int:
    """Set up the store, the index of your chats and every agent found."""
    paths = planned_paths(os.environ)
    check_settings(paths.config_file)
    rendered = render(source_folder(), launch_of(paths))
    found = [] if no_agents else _find_hosts(paths, rendered)
    _tell_plan(paths, found, no_index=no_index, allow_saving=allow_saving)
    if dry_run:
        return 0
    if not yes and not _agrees():
        click.echo("Nothing was changed.")
        return 1
    allow_saving = allow_saving or (not yes and _offers_rule(found))
    personal = None if yes else _asks_personal(paths, found)
    write_pins(os.environ)
    if personal is not None:
        set_personal(paths.config_file, personal)
    is_upgrade = _set_up_store(paths)
    if not no_index:
        from mash_plugin.cli.index import run_index

        click.echo(run_index())
    if no_agents:
        return 0
    if not found:
        click.echo("Neither `claude` nor `codex` is on PATH: nothing to install into. Once one is,")
        click.echo("run `mash init` again and restart the agent.")
        return 0
    return _install(paths, found, rendered, is_upgrade=is_upgrade, allow_saving=allow_saving)


def _find_hosts(paths: Paths, rendered: Mapping[str, bytes]) -> list[Found]:
    places = [(host, host.find_place(os.environ)) for host in HOSTS]
    return [
        Found(host, place, _inspect(paths, host, place, rendered))
        for host, place in places
        if place.client is not None
    ]


def _inspect(paths: Paths, host: Host, place: Place, rendered: Mapping[str, bytes]) -> Installed:
    try:
        return host.inspect(place, Path(paths.marketplace), rendered)
    except OSError as error:
        return Installed("broken", f"{place.config} cannot be read ({error}).")


def _tell_plan(paths: Paths, found: list[Found], *, no_index: bool, allow_saving: bool) -> None:
    click.echo("mash sets up, unless it is there already:")
    click.echo(f"  - the store, with daily backups, in {paths.data}")
    if not no_index:
        click.echo("  - an index of your chats with the agents; nothing leaves this machine")
    for one in found:
        click.echo(f"  - its plugin in {one.host.TITLE} ({one.place.config})")
    if allow_saving and found:
        click.echo("  - in each of them a rule, so that it uses mash without asking you")


def _agrees() -> bool:
    if not sys.stdin.isatty():
        raise InvalidArgument(
            "init asks before it changes anything and this is no terminal: add --yes."
        )
    return click.confirm("Go on?", default=True, err=True)


def _offers_rule(found: list[Found]) -> bool:
    """Ask where something is installed now and an agent would ask before every save."""
    asking = [one for one in found if one.is_due and not one.host.may_save(one.place)]
    if not asking:
        return False
    titles = " and ".join(one.host.TITLE for one in asking)
    click.echo(
        f"{titles} will ask you before each save. A rule in its settings stops that:", err=True
    )
    click.echo("it covers the tools of mash alone, and `mash uninstall` removes it.", err=True)
    return click.confirm("Add it?", default=False, err=True)


def _asks_personal(paths: Paths, found: list[Found]) -> bool | None:
    """Whether the person wants personal preferences at every start; None where it is settled."""
    tables, _ = read_tables(paths.config_file)
    recall = (tables or {}).get("recall")
    is_settled = isinstance(recall, dict) and "personal_at_start" in recall
    if is_settled or not any(one.is_due for one in found):
        return None
    click.echo("Preferences that you want everywhere can be shown at the start of every", err=True)
    click.echo("session: two at most, in all projects.", err=True)
    return click.confirm("Show them?", default=True, err=True)


def _allow_saving(found: list[Found]) -> int:
    """Add the rule to every agent that has the plugin; 1 where that cannot be done."""
    code = 0
    for one in found:
        if one.host.may_save(one.place):
            continue
        try:
            one.host.allow_saving(one.place)
            click.echo(f"{one.host.TITLE}: it uses the tools of mash without asking now.")
        except MashError as error:
            code = 1
            click.echo(f"mash: {one.host.TITLE}: {error.message}", err=True)
    return code


def _set_up_store(paths: Paths) -> bool:
    """Whether a daemon of another build was replaced."""
    from mash_plugin import client

    added = add_roots(paths.config_file, unseen_roots(os.environ))
    is_upgrade = _replace_other_daemon(paths)
    client.call("ping", {}, paths=paths)
    click.echo(f"Store: {paths.store}")
    for root in added:
        click.echo(f"Chats are also read from {root} (noted in {paths.config_file}).")
    return is_upgrade


def _replace_other_daemon(paths: Paths) -> bool:
    """After an upgrade the former daemon ends when its work is done; hooks reach the new one."""
    from mash_plugin.cli.running import find_running
    from mash_plugin.cli.stopping import end_daemon

    running = find_running(paths)
    if running is None or running.is_this:
        return False
    end_daemon(paths)
    click.echo(f"The daemon is replaced; the former was {running.name}.")
    return True


def _install(
    paths: Paths,
    found: list[Found],
    rendered: Mapping[str, bytes],
    *,
    is_upgrade: bool,
    allow_saving: bool,
) -> int:
    failed = []
    # Their tool servers run the former version until the agents are started anew.
    has_new = write_folder(rendered, Path(paths.marketplace)) or is_upgrade
    for one in found:
        try:
            _install_into(paths, one)
        except MashError as error:
            failed.append(one)
            click.echo(f"mash: {one.host.TITLE}: {error.message}", err=True)
        except Exception as error:  # one agent's failure never keeps another from its plugin
            failed.append(one)
            text = f"{type(error).__name__}: {error}"
            click.echo(f"mash: {one.host.TITLE}: the plugin was not installed ({text})", err=True)
    ruled = _allow_saving([one for one in found if one not in failed]) if allow_saving else 0
    changed = [one for one in found if one not in failed and (one.is_due or has_new)]
    if changed:
        click.echo(f"\n{EXAMPLE}")
        if asking := [one for one in changed if not one.host.may_save(one.place)]:
            titles = " and ".join(one.host.TITLE for one in asking)
            click.echo(f"{titles} will ask before each save; `mash init --allow-saving` ends that.")
    for one in found:
        if one not in failed:
            _tell_review(one)
    if changed:
        titles = " and ".join(one.host.TITLE for one in changed)
        click.echo(f"\nRestart {titles} now (end it and start it again), so that mash is loaded.")
    elif not failed:
        click.echo("\nNo agent had to be changed; none needs a restart.")
    return 1 if failed else ruled


def _tell_review(one: Found) -> None:
    """Say what the person must do for the hooks to run, now or since an earlier time."""
    if not one.host.REVIEW:
        return
    try:
        hooks = one.host.hook_trust(one.place, os.environ)
    except MashError:
        if one.is_due:
            click.echo(f"\n{one.host.REVIEW}")
        return
    if any(hook.status not in ("trusted", "managed") for hook in hooks):
        click.echo(f"\n{one.host.REVIEW}")


def _install_into(paths: Paths, one: Found) -> None:
    if one.installed.state == "broken":
        raise InvalidArgument(one.installed.detail)
    if one.is_due:
        click.echo(f"{one.host.TITLE}: installing the plugin ...", err=True)
        add_memo(paths, one.place, one.host.note_before(one.place))
        one.host.install(one.place, Path(paths.marketplace), os.environ)
        click.echo(f"{one.host.TITLE}: plugin installed")
    else:
        detail = f" ({one.installed.detail})" if one.installed.detail else ""
        click.echo(f"{one.host.TITLE}: plugin is {one.installed.state} already{detail}")
