"""`mash forget-project PATH|HOST/OWNER/NAME`: all chats of a project leave the memory."""

import os
from typing import Any

import click
import orjson

from mash_plugin.cli.consent import refuse_in_session
from mash_plugin.cli.forget import WAIT_S, ask_to_forget, show_records, tell_left
from mash_plugin.cli.telling import tell
from mash_plugin.errors import InvalidArgument
from mash_plugin.render.text import clean, shorten
from mash_plugin.wording import counted

SHOWN_CHATS = 20


@click.command("forget-project")
@click.argument("project", metavar="PATH|HOST/OWNER/NAME")
@click.option("--keep-records", is_flag=True, help="Remove chats alone; needs `index` off there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; needs --yes.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def forget_project(
    project: str, keep_records: bool, yes: bool, as_json: bool, dry_run: bool
) -> int:
    """Forget all chats of a project, with every record that cites them.

    PATH takes that folder and all below it; HOST/OWNER/NAME a repository in all its clones. They do
    not come back when transcripts are read again; the transcripts stay with the agents. New chats
    are read unless `index` is off there: see `mash projects PATH`.

    With --keep-records the records stay, each with the words that it cites.
    """
    from mash_plugin import client

    if not dry_run:
        refuse_in_session("Forgetting a project cannot be undone")
    named = _named(project)
    found = client.call("forget_project", {**named, "dry_run": True}, timeout_s=WAIT_S)
    if keep_records:
        found |= {"records": [], "checkpoints": 0}
    if dry_run and as_json:
        click.echo(orjson.dumps(found).decode())
        return 0
    if not as_json:
        _show(found, keep_records=keep_records)
    if dry_run:
        return 0
    if not yes:
        ask_to_forget(project, is_answerable=not as_json)
    done = client.call("forget_project", {**named, "keep_records": keep_records}, timeout_s=WAIT_S)
    if as_json:
        click.echo(orjson.dumps(done).decode())
        return 0
    gone = f"{counted(len(done['chats']), 'chat')}, {counted(len(done['records']), 'record')}"
    tell(f"Forgot {clean(done['project'])}: {gone}.")
    tell_left(done)
    return 0


def _named(project: str) -> dict[str, str]:
    """The real path of a folder, or the identity of a repository. Raises InvalidArgument."""
    from mash_plugin.chats.switches import named_folder, named_identity

    if project.startswith(("/", "~")):
        return {"path": named_folder(project)}
    if project.startswith(".") or os.path.exists(project):
        return {"path": os.path.realpath(project)}
    identity = named_identity(project) if "/" in project or ":" in project else None
    if identity is None:
        raise InvalidArgument(f"{project!r} is neither a folder here nor HOST/OWNER/NAME.")
    return {"identity": identity}


def _show(found: dict[str, Any], *, keep_records: bool) -> None:
    chats = found["chats"]
    tell(f"Project  {clean(found['project'])}: {counted(len(chats), 'chat')}")
    for chat in chats[:SHOWN_CHATS]:
        title = shorten(clean(chat["title"]), 70) or "(no title)"
        tell(f"    {chat['id']}  {title}  ({counted(chat['messages'], 'message')})")
    if len(chats) > SHOWN_CHATS:
        tell(f"    and {len(chats) - SHOWN_CHATS} more; --dry-run --json lists all")
    tell(f"Messages {found['messages']} to be removed")
    if found["kept_messages"]:
        others = ", ".join(found["kept_with"][:5])
        tell(f"         {found['kept_messages']} more stay: {others} holds them too")
    if keep_records:
        tell("Records  all stay, with the words that they cite")
    else:
        show_records(found["records"])
    if found["unread"]:
        tell(f"New chats there are not read ({clean(found['unread'])}).")
    else:
        tell("New chats there ARE read: a file .mash with `index = off` there ends that.")
