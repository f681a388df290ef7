"""`mash init`: store, index and every agent found; running it again changes nothing more."""

import click

from mash_plugin.cli.wizard.plan import Choices, Plan, make_plan, tell_plan


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask: set up, and leave out what is optional.")
@click.option("--no-index", is_flag=True, help="Leave the chats unread for now.")
@click.option("--no-agents", is_flag=True, help="Install into no agent.")
@click.option(
    "--allow-saving/--no-allow-saving",
    default=None,
    help="Let the agents use mash without asking you, or not; asked otherwise (suggested: no).",
)
@click.option(
    "--personal/--no-personal",
    default=None,
    help="Show personal preferences at the start of every session, or not; asked otherwise"
    " (suggested: yes).",
)
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
def init(
    yes: bool,
    no_index: bool,
    no_agents: bool,
    allow_saving: bool | None,
    personal: bool | None,
    dry_run: bool,
) -> int:
    """Set up the store, the index of your chats and every agent found.

    Tells what it finds and what it will change, and asks before it does; every answer has an
    option. ^C at any time leaves a system that works, and a second run goes on from there.
    """
    choices = Choices(yes, not no_index, not no_agents, allow_saving, personal)
    plan = make_plan(choices)
    tell_plan(plan, choices)
    if dry_run:
        from mash_plugin.cli.wizard.rehearsal import tell_changes

        tell_changes(plan, choices)
        return 0
    answered = _ask(plan, choices)
    if answered is None:
        click.echo("Nothing was changed.")
        return 1
    try:
        return _act(plan, answered)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nWhat is done works; `mash init` goes on from there.", err=True)
        raise


def _ask(plan: Plan, choices: Choices) -> Choices | None:
    from mash_plugin.cli.wizard.asking import ask

    try:
        return ask(plan, choices)
    except click.Abort:
        click.echo("\nNothing was changed.", err=True)
        raise


def _act(plan: Plan, choices: Choices) -> int:
    from mash_plugin.cli.wizard.ending import tell_end
    from mash_plugin.cli.wizard.steps import set_up

    return tell_end(plan, choices, set_up(plan, choices))
