"""`meaning-memory doctor`: what was found about a workspace, and what helps."""

import os

import click

from mash_plugin.cli.capture import masked, places, settings_of


@click.command()
@click.option(
    "--category", type=click.Choice(["throughline"]), default="throughline", help="What to check."
)
@click.option(
    "--agent", "--agent-id", "agent", metavar="NAME", help="Also look at this agent's queue."
)
@click.option(
    "--fix",
    is_flag=True,
    help="Move a damaged memories.db aside, so that the next drain begins a new one.",
)
@places
def doctor(
    category: str, agent: str | None, fix: bool, config_dir: str, workspace: str | None
) -> int:
    """Check the queue and the store, and tell what each setting does.

    Exit code 1 when something is wrong. Nothing is changed without --fix. The settings are those
    of config.toml and of this shell: what only cron's or a unit's environment sets is not seen.
    """
    from mash_plugin.throughline.clock import now_ms
    from mash_plugin.throughline.doctor import findings
    from mash_plugin.throughline.findings import Finding

    faults: list[str] = []
    settings, now = settings_of(config_dir, workspace, faults=faults), now_ms(os.environ)
    if fix:
        from mash_plugin.throughline.mending import set_aside_if_damaged

        click.echo(masked(set_aside_if_damaged(settings, now)))
    found = [Finding("setting", "error", fault) for fault in faults]
    found += [
        one
        for one in findings(settings, agent, now)
        if not (faults and one.name == "MM_WORKING_TTL_HOURS")
    ]
    click.echo(f"{category}:")
    for one in found:
        click.echo(f"  {one.severity:8} {one.what}")
        if one.next:
            click.echo(f"           {one.next}")
    return 1 if any(one.severity in ("warning", "error") for one in found) else 0
