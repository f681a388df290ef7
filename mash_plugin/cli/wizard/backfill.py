"""The offer to review earlier chats: after the index, at the person's cost, never by itself."""

import os

import click

from mash_plugin.backfill import offer, window
from mash_plugin.backfill.offer import Chosen
from mash_plugin.backfill.plan import make_plan
from mash_plugin.backfill.run import Options, Result, run
from mash_plugin.cli.backfill import backfill_window, summary
from mash_plugin.cli.consent import confirmed
from mash_plugin.cli.telling import tell
from mash_plugin.daemon.clock import now_ms
from mash_plugin.errors import MashError
from mash_plugin.paths import Paths

NOBODY = "nobody"
INTERRUPTED = 130
NOTHING_LEFT = (
    "No earlier chat is offered for review: none of the last days is left to be reviewed."
    " `mash backfill` does it at any time."
)
DECLINED = (
    "No earlier chat is offered for review: you said no before. `mash backfill` does it at any"
    " time."
)
SIGNED_IN_NOWHERE = (
    "No earlier chat is offered for review: no agent on PATH says that you are signed in. Sign in,"
    " then run `mash backfill`."
)


def offer_backfill(paths: Paths) -> int:
    """Ask whether and by whom chats are to be reviewed, and do it; the exit code."""
    try:
        return _offer(paths)
    except MashError as error:
        _tell(f"mash: no chats were reviewed: {error.message}")
        return 1
    except click.Abort:
        # The rest is set up: its end must still be told.
        _tell("\nNo chats were reviewed. `mash backfill` does it at any time.")
        return INTERRUPTED


def backfill_by(paths: Paths, agent: str) -> Result:
    """Review the chats of the kept window by this agent, unasked (R-144)."""
    return backfill_window(paths, agent, _tell)


def _offer(paths: Paths) -> int:
    if offer.is_declined(paths):
        _tell(f"\n{DECLINED}")
        return 0
    now = now_ms(os.environ.get("MASH_TEST_NOW_MS"))
    plan = make_plan(paths, window.saved_since(paths, now))
    if not plan.chats:
        return 0  # who has no chats need not hear of reviews
    reviewers = offer.find_reviewers(paths, os.environ) if plan.of("due") else []
    text = offer.offer_text(reviewers, plan)
    if not text:
        _tell(f"\n{NOTHING_LEFT if not plan.of('due') else SIGNED_IN_NOWHERE}")
        return 0
    _tell(f"\n{text}")
    chosen = _ask_who(reviewers)
    if chosen is None:
        offer.note_declined(paths)
        _tell("No chats were reviewed. `mash backfill` does it at any time.")
        return 0
    window.keep_since(paths, now)
    result = run(paths, chosen, plan, os.environ, Options(tell=_tell))
    _tell(summary(result))
    return result.exit_code


def _ask_who(reviewers: list[Chosen]) -> Chosen | None:
    """The reviewer that the person chose and, told of the cost, confirmed."""
    chosen: Chosen | None = reviewers[0]
    if len(reviewers) > 1:
        names = {one.name: one for one in reviewers}
        answer = click.prompt(
            "Who shall review them?",
            type=click.Choice([*names, NOBODY]),
            default=NOBODY,
            err=True,
        )
        chosen = names.get(answer)
    if chosen is None:
        return None
    _tell(offer.notice(chosen))
    return chosen if confirmed("Review them now?") else None


def _tell(text: str) -> None:
    tell(text, err=True)
