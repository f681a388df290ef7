"""`mash backup`: what can be done with the older copies of the store."""

import os
import time

import click
import orjson

from mash_plugin.cli.groups import TellingGroup
from mash_plugin.paths import find_paths
from mash_plugin.render.text import clean
from mash_plugin.wording import counted

WORDS = {
    "rewritten": "rewritten",
    "unchanged": "unchanged, nothing forgotten is in it",
    "damaged": "left alone, damaged",
    "left": "left alone",
}


@click.group(cls=TellingGroup)
def backup() -> None:
    """Look after the daily backups of the store."""


@backup.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def make(as_json: bool) -> None:
    """Make a backup now; older ones beyond the newest three go."""
    from mash_plugin import client

    made = client.call("backup", {})
    click.echo(orjson.dumps(made).decode() if as_json else f"Made {clean(made['path'])}.")


@backup.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def rewrite(as_json: bool) -> int:
    """Take out of every kept backup what was forgotten since it was made.

    Exit code 1 when a file could not be rewritten and may still hold the text.
    """
    from mash_plugin.store.rewrite import rewrite_backups

    done = rewrite_backups(find_paths(os.environ), time.time_ns() // 1_000_000)
    if as_json:
        files = [
            {
                "path": one.path,
                "outcome": one.outcome,
                "records": one.records,
                "chats": one.chats,
                "problem": one.problem,
            }
            for one in done
        ]
        click.echo(orjson.dumps({"files": files}).decode())
    else:
        for one in done:
            told = f"{clean(one.path)}: {WORDS[one.outcome]}"
            if one.outcome == "rewritten":
                gone = counted(one.records, "record"), f"traces of {counted(one.chats, 'chat')}"
                told += f", taken out: {', '.join(gone)}"
            if one.problem:
                told += f": {clean(one.problem)}"
            click.echo(told)
        if not done:
            click.echo("There are no backups.")
    return 1 if any(one.problem for one in done) else 0
