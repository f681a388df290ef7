"""`mash init`: store, index and every agent found; running it again changes nothing more."""

import click

from mash_plugin.cli.wizard.plan import Choices

EXAMPLES = """\b
Examples:
  mash init                       look, ask, set up
  mash init --dry-run             show the changes, line by line
  mash init --yes                 unattended: suggested answers, nothing optional
  mash init --yes --allow-saving  and let the agents save without asking
"""


@click.command(epilog=EXAMPLES)
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
    from mash_plugin.cli.wizard.asking import ask
    from mash_plugin.cli.wizard.plan import make_plan, tell_plan

    choices = Choices(yes, not no_index, not no_agents, allow_saving, personal)
    plan = make_plan(choices)
    tell_plan(plan, choices)
    if dry_run:
        from mash_plugin.cli.wizard.rehearsal import tell_changes

        tell_changes(plan, choices)
        return 0
    answered = ask(plan, choices)
    if answered is None:
        click.echo("Nothing was changed.")
        return 1
    from mash_plugin.cli.wizard.ending import tell_end
    from mash_plugin.cli.wizard.steps import set_up

    done = set_up(plan, answered)
    return tell_end(plan, answered, done)
