"""`mash init`: store, index and every agent found; running it again changes nothing more."""

import json
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import click

from mash_plugin.agents import HOOKED
from mash_plugin.cli.consent import refuse_in_session
from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.plan import Choices, Plan, make_plan, tell_plan
from mash_plugin.connecting import refuse_sandbox

Json = dict[str, Any]


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
@click.option(
    "--capture-sessions/--no-capture-sessions",
    "sessions",
    default=None,
    help="Keep short working memories of ended sessions and show the latest where the next one"
    " begins, or stop it; off otherwise.",
)
@click.option(
    "--backfill-memory",
    type=click.Choice(list(HOOKED)),
    help="Let this agent review your last chats, unasked; prints the result as JSON.",
)
@click.option("--no-backfill", is_flag=True, help="Do not offer to review your last chats.")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@click.option("--agreed", is_flag=True, hidden=True)
def init(
    yes: bool,
    no_index: bool,
    no_agents: bool,
    allow_saving: bool | None,
    personal: bool | None,
    sessions: bool | None,
    backfill_memory: str | None,
    no_backfill: bool,
    dry_run: bool,
    agreed: bool,
) -> int:
    """Set up the store, the index of your chats and every agent found.

    Tells what it finds and what it will change, and asks before it does; every answer has an
    option. ^C at any time leaves a system that works, and a second run goes on from there.
    """
    if allow_saving and not dry_run:
        refuse_in_session("--allow-saving lets agents use mash without asking you")
    choices = Choices(
        is_unattended=yes,
        has_agreed=agreed,
        wants_index=not no_index,
        wants_agents=not no_agents,
        may_save=allow_saving,
        personal=personal,
        sessions=sessions,
        reviewer=backfill_memory,
        may_offer_backfill=not (yes or no_backfill),
    )
    # Standard output then holds the result of the backfill alone.
    with redirect_stdout(sys.stderr) if backfill_memory else nullcontext():
        code, result = _run(choices, dry_run=dry_run)
    if result is not None:
        click.echo(json.dumps(result, ensure_ascii=False))
    return code


def _run(choices: Choices, *, dry_run: bool) -> tuple[int, Json | None]:
    """The exit code, and what an unasked backfill came to."""
    refuse_sandbox()  # half a setup would be all that comes of it there
    plan = make_plan(choices)
    tell_plan(plan, choices)
    if dry_run:
        from mash_plugin.cli.wizard.rehearsal import tell_changes

        tell_changes(plan, choices)
        return 0, None
    answered = _ask(plan, choices)
    if answered is None:
        tell(_unchanged(plan))
        return 1, None
    try:
        return _act(plan, answered)
    except (KeyboardInterrupt, click.Abort):
        tell("\nWhat is done works; `mash init` goes on from there.", err=True)
        raise


def _ask(plan: Plan, choices: Choices) -> Choices | None:
    from mash_plugin.cli.wizard.asking import ask

    try:
        return ask(plan, choices)
    except click.Abort:
        tell(f"\n{_unchanged(plan)}", err=True)
        raise


def _unchanged(plan: Plan) -> str:
    """What is so when the person has not gone on; the installer has built the program by then."""
    if not (Path(plan.paths.data) / "current").exists():
        return "Nothing was changed."
    return "Nothing more was changed: mash is installed, and `mash init` goes on from here."


def _act(plan: Plan, choices: Choices) -> tuple[int, Json | None]:
    from mash_plugin.cli.wizard.backfill import backfill_by, offer_backfill
    from mash_plugin.cli.wizard.ending import tell_end
    from mash_plugin.cli.wizard.steps import set_up

    done = set_up(plan, choices)
    reviewed, result = 0, None
    if choices.reviewer:
        found = backfill_by(plan.paths, choices.reviewer)
        reviewed, result = found.exit_code, found.as_json()
    elif choices.may_offer_backfill:
        reviewed = offer_backfill(plan.paths)
    return tell_end(plan, choices, done) or reviewed, result
