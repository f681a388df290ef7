"""`consolidate`: move captures into the store, and let working memories expire."""

import os
from typing import TYPE_CHECKING

import click

from mash_plugin.cli.capture import (
    agent_option,
    as_json,
    masked,
    places,
    print_json,
    quiet,
    settings_of,
)
from mash_plugin.errors import InvalidArgument

if TYPE_CHECKING:
    from mash_plugin.throughline.settings import Settings


class WithSettings(click.Command):
    """Adds what each setting does to the help, read only when it is asked for."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from mash_plugin.throughline.settings import HELP

        with formatter.section("Settings (environment, or keys of [throughline] in config.toml)"):
            formatter.write_dl(list(HELP.items()))
        super().format_epilog(ctx, formatter)


@click.command(cls=WithSettings)
@agent_option("Whose.")
@click.option("--drain-only", is_flag=True, help="Only move what is queued into the store.")
@click.option("--promote-only", is_flag=True, help="Only copy what matters, and expire; nightly.")
@click.option(
    "--file-to-postgres",
    is_flag=True,
    help="Only move what memories.db holds of this agent into Postgres; once, after the change.",
)
@quiet
@as_json
@places
def consolidate(
    agent: str,
    drain_only: bool,
    promote_only: bool,
    file_to_postgres: bool,
    quiet: bool,
    as_json: bool,
    config_dir: str,
    workspace: str | None,
) -> int:
    """Drain the queue of an agent, then promote and expire working memories.

    Draining is cheap with nothing to do: run it every few minutes. Exit code 1 when an entry
    could not be stored; it stays queued, or was set aside by name if nobody can read it.
    """
    if drain_only + promote_only + file_to_postgres > 1:
        only = "--drain-only, --promote-only and --file-to-postgres"
        raise click.UsageError(f"Give one of {only}, or none.")
    settings = settings_of(config_dir, workspace)
    if not promote_only and not os.path.isdir(settings.workspace):
        raise click.UsageError(
            f"The workspace {masked(settings.workspace)} does not exist; nothing was drained."
            " Name the folder that captures are queued in (--workspace)."
        )
    from mash_plugin.throughline.clock import now_ms

    now, silent = now_ms(os.environ), quiet or as_json
    done: dict[str, int] = {}
    if file_to_postgres:
        done = _move(settings, agent, now, silent=silent)
    elif not promote_only:
        done |= _drain(settings, agent, now, quiet=quiet, silent=silent)
    if not (drain_only or file_to_postgres):
        done |= _promote(settings, agent, now, silent=silent)
    if as_json:
        print_json(done)
    return 1 if done.get("failed") else 0


def _drain(
    settings: "Settings", agent: str, now: int, *, quiet: bool, silent: bool
) -> dict[str, int]:
    """Store what is queued, and tell of it; the artifacts counted."""
    from mash_plugin.throughline.drain import drain
    from mash_plugin.throughline.settings import forgotten_backend

    drained = drain(settings, agent, now)
    if not silent:
        click.echo(str(drained))
    unsaid = forgotten_backend(settings) if drained.drained else ""
    is_idle = not (drained.drained or drained.known or drained.failed)
    others = _others(settings.workspace, agent, now, quiet=quiet) if is_idle else ""
    for said in filter(None, (*drained.faults, drained.note, unsaid, others)):
        click.echo(masked(said), err=True)
    return {"drained": drained.drained, "known": drained.known, "failed": drained.failed}


def _others(workspace: str, agent: str, now: int, *, quiet: bool) -> str:
    """Whose captures wait although nothing does for this agent: its name may be mistyped."""
    from mash_plugin.throughline.waiting import LATE_MS, of_others

    late = [one for one in of_others(workspace, agent) if not quiet or now - one.since > LATE_MS]
    if not late:
        return ""
    told = ", ".join(one.told(now) for one in late[:3])
    return f"Nothing is queued for {agent}, but captures wait here of {told}. Is the name right?"


def _promote(settings: "Settings", agent: str, now: int, *, silent: bool) -> dict[str, int]:
    """Copy what matters, let the rest expire, and tell of it; the memories counted."""
    from mash_plugin.throughline.promote import promote

    try:
        promoted = promote(settings, agent, now)
    except InvalidArgument as error:
        raise click.UsageError(error.message) from None
    if not silent:
        click.echo(str(promoted))
    if promoted.note:
        click.echo(masked(promoted.note), err=True)
    return {"promoted": promoted.copied, "expired": promoted.expired}


def _move(settings: "Settings", agent: str, now: int, *, silent: bool) -> dict[str, int]:
    """Move what the file holds, and tell of it; the memories counted."""
    from mash_plugin.throughline.moving import NOTHING, left_in_file, move, refuse_without_postgres

    try:
        refuse_without_postgres(settings)
    except InvalidArgument as error:
        raise click.UsageError(error.message) from None
    moved = move(settings, agent, now)
    if not silent:
        click.echo(str(moved))
    others = ", ".join(sorted(left_in_file(settings))) if moved == NOTHING else ""
    if others:
        told = f"Nothing of {agent} is in memories.db, but of: {others}. Is the name right?"
        click.echo(masked(told), err=True)
    return {"moved": moved.moved, "known": moved.known}
