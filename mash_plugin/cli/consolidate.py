"""`consolidate`: move captures into the store, and let working memories expire."""

import os

import click

from mash_plugin.cli.capture import check_name, masked, places, settings_of
from mash_plugin.errors import InvalidArgument


class WithSettings(click.Command):
    """Adds what each setting does to the help, read only when it is asked for."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from mash_plugin.throughline.settings import HELP

        with formatter.section("Settings (environment, or keys of [throughline] in config.toml)"):
            formatter.write_dl(list(HELP.items()))
        super().format_epilog(ctx, formatter)


@click.command(cls=WithSettings)
@click.option(
    "--agent-id", "agent", required=True, callback=check_name, metavar="NAME", help="Whose."
)
@click.option("--drain-only", is_flag=True, help="Only move what is queued into the store.")
@click.option("--promote-only", is_flag=True, help="Only copy what matters, and expire; nightly.")
@places
def consolidate(
    agent: str, drain_only: bool, promote_only: bool, config_dir: str, workspace: str | None
) -> int:
    """Drain the queue of an agent, then promote and expire working memories.

    Draining is cheap with nothing to do: run it every few minutes. Exit code 1 when an entry
    could not be stored; it stays queued, or was set aside by name if nobody can read it.
    """
    if drain_only and promote_only:
        raise click.UsageError("Give --drain-only, --promote-only or neither, not both.")
    settings = settings_of(config_dir, workspace)
    if not promote_only and not os.path.isdir(settings.workspace):
        raise click.UsageError(
            f"The workspace {masked(settings.workspace)} does not exist; nothing was drained."
            " Name the folder that captures are queued in (--workspace)."
        )
    from mash_plugin.throughline.clock import now_ms

    now, failed = now_ms(os.environ), 0
    if not promote_only:
        from mash_plugin.throughline.drain import drain

        drained = drain(settings, agent, now)
        click.echo(str(drained))
        for said in filter(None, (*drained.faults, drained.note)):
            click.echo(masked(said), err=True)
        failed = drained.failed
    if not drain_only:
        from mash_plugin.throughline.promote import promote

        try:
            click.echo(str(promote(settings, agent, now)))
        except InvalidArgument as error:
            raise click.UsageError(error.message) from None
    return 1 if failed else 0
