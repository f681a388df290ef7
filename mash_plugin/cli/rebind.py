"""`mash rebind`: the records of a project follow it to its new folder, or to its repository."""

import os
from shlex import quote
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.cli.tables import print_table
from mash_plugin.cli.telling import tell
from mash_plugin.render.text import clean
from mash_plugin.wording import counted

UNASKED = "rebind asks first, and this is no terminal: run it in one, or add --yes."


@click.command()
@click.argument("old")
@click.argument("new", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would move; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def rebind(old: str, new: str | None, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Let records of the folder OLD, and of folders in it, belong to NEW.

    For a project without a remote that was moved or renamed: its records are kept under its
    path. Whole components count: /a/app moves /a/app/sub, not /a/app2. Everything moves at
    once, with its history; `mash rebind NEW OLD` takes it back.

    Where NEW has a remote, they go to its repository: every clone has them, a group that is
    joined gets what is settled, and no command takes it back. Leave NEW out for a folder that
    stayed where it is and got a remote since.
    """
    from mash_plugin import client

    request = {"old": os.path.abspath(plain(old)), "new": os.path.abspath(plain(new or old))}
    told = client.call("terminal_rebind", request)
    repositories = _repositories(told)
    if repositories and not dry_run:
        refuse_in_session("Records of a repository can be published to others")
    if not as_json:
        _show(told)
    if not dry_run:
        if not yes:
            target = ", ".join(repositories) or told["new"]
            require_yes(f"Move {counted(told['records'], 'record')} to {clean(target)}?", UNASKED)
        told = client.call("terminal_rebind", {**request, "digest": told["digest"]})
    if as_json:
        click.echo(orjson.dumps(told).decode())
    elif not dry_run:
        back = f"mash rebind {quote(told['new'])} {quote(told['old'])}"
        taken_back = "" if repositories else f" `{clean(back)}` takes it back."
        click.echo(f"Moved {counted(told['records'], 'record')}.{taken_back}")
    return 0


def _repositories(told: dict[str, Any]) -> list[str]:
    return sorted({scope["to"] for scope in told["scopes"] if scope["kind"] == "repository"})


def _show(told: dict[str, Any]) -> None:
    for scope in told["scopes"]:
        rows = [("From", clean(scope["from"])), ("To", clean(scope["to"]))]
        counts = [("Records", str(scope["records"])), ("There already", str(scope["there"]))]
        print_table(rows + counts)
    if _repositories(told):
        tell(
            "Every clone of that repository has them then, and a group that is joined gets what"
            " is settled. No command takes it back."
        )
    elif told["old_exists"]:
        click.echo(f"{clean(told['old'])} is still there; its project loses these records.")
    if not told["new_exists"]:
        click.echo(f"{clean(told['new'])} is not there yet.")
    if any(scope["there"] for scope in told["scopes"]):
        click.echo("They are mixed with those there already: the reverse would move them all.")
    if told["same"]:
        click.echo(f"{told['same']} of them say what a record there says; both are kept.")
