"""`meaning-memory doctor`: what was found about a workspace, and what helps."""

import os

import click

from mash_plugin.cli.capture import places, settings_of


@click.command()
@click.option(
    "--category", type=click.Choice(["throughline"]), default="throughline", help="What to check."
)
@click.option(
    "--agent", "--agent-id", "agent", metavar="NAME", help="Also look at this agent's queue."
)
@places
def doctor(category: str, agent: str | None, config_dir: str, workspace: str | None) -> int:
    """Check the queue and the store, and tell what each setting does.

    Exit code 1 when something is wrong. Nothing is changed. The settings are those of
    config.toml and of this shell: what only cron's or a unit's environment sets is not seen.
    """
    from mash_plugin.throughline.clock import now_ms
    from mash_plugin.throughline.doctor import findings

    found = list(findings(settings_of(config_dir, workspace), agent, now_ms(os.environ)))
    click.echo(f"{category}:")
    for one in found:
        click.echo(f"  {one.severity:8} {one.what}")
        if one.next:
            click.echo(f"           {one.next}")
    return 1 if any(one.severity in ("warning", "error") for one in found) else 0
