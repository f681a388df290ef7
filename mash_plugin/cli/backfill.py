"""`mash backfill`: have earlier chats reviewed by an agent; progress on stderr, JSON on stdout."""

import json
import os
import re
import sys
from collections.abc import Callable
from datetime import datetime

import click

from mash_plugin.agents import HOOKED
from mash_plugin.backfill import offer, window
from mash_plugin.backfill.plan import MOST_REVIEWS, make_plan
from mash_plugin.backfill.run import Options, Result, run
from mash_plugin.cli.consent import require_yes
from mash_plugin.cli.moments import length_ms
from mash_plugin.cli.telling import tell
from mash_plugin.daemon.clock import now_ms
from mash_plugin.paths import Paths, find_paths
from mash_plugin.wording import counted

UNASKED = "backfill asks before it starts an agent, and this is no terminal: add --yes."
Tell = Callable[[str], None]


@click.command()
@click.option("--agent", type=click.Choice(list(HOOKED)), help="Who reviews, if there are two.")
@click.option("--since", metavar="WHEN", help="3d, 12h, 2w, a date, or Unix milliseconds.")
@click.option(
    "--limit",
    type=click.IntRange(1, MOST_REVIEWS),
    default=MOST_REVIEWS,
    show_default=True,
    help="Review so many chats at most.",
)
@click.option("--chat", metavar="CHAT_ID", help="Review this chat alone, whenever it was.")
@click.option("--dry-run", is_flag=True, help="Say what would be reviewed; start no agent.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON object and no progress.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def backfill(
    agent: str | None,
    since: str | None,
    limit: int,
    chat: str | None,
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> int:
    """Let an agent that you are signed in to read earlier chats once, and note what is worth it.

    It notes candidates: nothing is settled before you or an agent establishes it. It uses tokens
    of your account there and sends the text of the chats to that service. A chat that was
    reviewed as it stands is skipped. Without --since it covers the chats from three days before
    the first run on; that moment is kept in config.toml. It stops at the first review that
    fails, and after 100 chats; run it again to go on.

    Progress goes to standard error, one JSON object to standard output; on a terminal that needs
    --json.
    """
    paths, now = find_paths(os.environ), now_ms(os.environ.get("MASH_TEST_NOW_MS"))
    begin = parse_since(since, now) if since else window.saved_since(paths, now)
    plan = make_plan(paths, begin, chat)
    tell: Tell = (lambda _: None) if as_json else _tell
    tell(plan.summary())
    if dry_run or not plan.of("due"):
        stopped = "dry_run" if dry_run else None
        _print(Result(agent or "", plan, stopped_because=stopped), as_json=as_json)
        return 0
    chosen = offer.choose(paths, os.environ, agent)
    _tell(offer.notice(chosen))
    if not yes:
        require_yes("Go on?", UNASKED, left="Nothing was reviewed.")
    if not since and not chat:
        window.keep_since(paths, now)
    result = run(paths, chosen, plan, os.environ, Options(limit=limit, tell=tell))
    _print(result, as_json=as_json)
    tell(summary(result))
    return result.exit_code


def backfill_window(paths: Paths, agent: str, tell: Tell) -> Result:
    """Review the chats of the kept window without a question, as `mash init` does when told to."""
    since = window.keep_since(paths, now_ms(os.environ.get("MASH_TEST_NOW_MS")))
    plan = make_plan(paths, since)
    tell(plan.summary())
    if not plan.of("due"):
        return Result(agent, plan)
    chosen = offer.choose(paths, os.environ, agent)
    tell(offer.notice(chosen))
    result = run(paths, chosen, plan, os.environ, Options(tell=tell))
    tell(summary(result))
    return result


def parse_since(text: str, now: int) -> int:
    """A moment from a length of time, a date or Unix milliseconds; raises UsageError."""
    if (length := length_ms(text)) is not None:
        return max(0, now - length)
    if re.fullmatch(r"\d{12,14}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(
            f"--since {text} is no length such as 3d, 12h or 2w, no date such as 2026-11-27, and"
            " no Unix milliseconds."
        ) from None
    return max(0, int(moment.timestamp() * 1000))


def summary(result: Result) -> str:
    """What came of it, and what to do next, in words."""
    found = result.as_json()["backfill"]
    text = f"{counted(found['completed_reviews'], 'chat')} reviewed,"
    text += f" {counted(found['records_saved'], 'candidate')} saved"
    text += f"; {found['pending']} still to do" if found["pending"] else ""
    if result.unfinished:
        text += f".\nStopped: {result.unfinished[1].reason}. Run `mash backfill` again to go on"
    elif result.stopped_because:
        text += ". Run `mash backfill` again to go on"
    if found["records_saved"]:
        text += ".\n`mash records --all` shows them; `mash establish ID` settles one that is right"
    return text + "."


def _tell(text: str) -> None:
    tell(text, err=True)


def _print(result: Result, *, as_json: bool) -> None:
    """For scripts: who looks at a terminal is told it in words."""
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps(result.as_json(), ensure_ascii=False))
