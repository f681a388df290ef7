"""The questions of `mash init`: all of them before anything is changed, each with a flag."""

import sys
from dataclasses import replace

import click

from mash_plugin.cli.consent import confirmed
from mash_plugin.cli.telling import tell
from mash_plugin.cli.wizard.found import titles_of
from mash_plugin.cli.wizard.plan import Choices, Plan, personal_at_start


def ask(plan: Plan, choices: Choices) -> Choices | None:
    """The choices with every open answer given; None when the person does not go on."""
    if choices.is_unattended:
        return choices
    if not sys.stdin.isatty():
        raise click.UsageError(
            "init asks before it changes anything and this is no terminal: add --yes."
        )
    if not choices.has_agreed and not confirmed("Go on?", default=True):
        return None
    return replace(
        choices,
        may_save=_ask_rule(plan) if choices.may_save is None else choices.may_save,
        personal=_ask_personal(plan) if choices.personal is None else choices.personal,
    )


def _ask_rule(plan: Plan) -> bool:
    """Ask where something is installed now and an agent would ask before every save."""
    asking = [one for one in plan.agents if one.is_due and not one.host.may_save(one.place)]
    if not asking:
        return False
    whose = "their" if len(asking) > 1 else "its"
    tell(
        f"\n{titles_of(asking)} will ask you before each save. A rule in {whose} settings stops"
        " that: it covers the tools of mash alone, and `mash uninstall` removes it.",
        err=True,
    )
    return confirmed("Add it?")


def _ask_personal(plan: Plan) -> bool | None:
    """Whether the person wants personal preferences at every start; None where it is settled."""
    is_settled = personal_at_start(plan.paths) is not None
    if is_settled or not any(one.is_due for one in plan.agents):
        return None
    tell(
        "\nPreferences that you want everywhere can be shown at the start of every"
        " session: two at most, in all projects.",
        err=True,
    )
    return confirmed("Show them?", default=True)
