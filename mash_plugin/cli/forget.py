"""`mash forget CHAT_ID`: a chat and every record that cites it, for ever."""

from typing import Any

import click
import orjson

from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.cli.record_words import state_words
from mash_plugin.cli.tables import lines_of, moments, print_table, short_ids
from mash_plugin.cli.telling import tell
from mash_plugin.errors import InvalidArgument
from mash_plugin.render.text import clean, shorten
from mash_plugin.wording import NEWEST, counted

SHOWN_RECORDS = 40
STATEMENT_CHARS = 160
WAIT_S = 600.0


@click.command()
@click.argument("chat_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; needs --yes.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def forget(chat_id: str, yes: bool, as_json: bool, dry_run: bool) -> int:
    """Forget a chat, with the chats of its agents and every record that cites it.

    CHAT_ID may be its beginning, or `newest` for the last one.
    It does not come back when transcripts are read again; the transcript itself stays with the
    agent. `mash index --restore-chat CHAT_ID` lets the chat in again, without its records.
    """
    from mash_plugin import client
    from mash_plugin.cli.chat_names import whole_chat_id

    if not dry_run:
        refuse_in_session("Forgetting a chat cannot be undone")
    if chat_id == NEWEST and yes and not dry_run:
        raise click.UsageError(
            "Which chat is the newest may have changed, and --yes asks nobody: give its ID."
        )
    chat_id = whole_chat_id(chat_id)
    found = client.call("forget_chat", {"id": chat_id, "dry_run": True}, timeout_s=WAIT_S)
    if dry_run and as_json:
        click.echo(orjson.dumps(found).decode())
        return 0
    if not as_json:
        _show(found)
    if dry_run:
        return 0
    if not yes and _is_gone(found):
        raise click.ClickException("Nothing of it is left to forget.")
    if not yes:
        ask_to_forget(chat_id, is_answerable=not as_json)
    done = client.call("forget_chat", {"id": chat_id}, timeout_s=WAIT_S)
    if as_json:
        click.echo(orjson.dumps(done).decode())
    else:
        _tell(done)
    return 0


def ask_to_forget(name: str, *, is_answerable: bool) -> None:
    """Ask on the terminal; ends the command where the answer is no or nobody can answer."""
    unasked = f"forgetting {name} cannot be undone and there is no terminal to ask on;"
    unasked += " to do it all the same, add --yes."
    require_yes("Forget all this for ever?", unasked, is_answerable=is_answerable)


def _is_gone(found: dict[str, Any]) -> bool:
    left = (found["messages"], found["records"], found["checkpoints"], found["chats"])
    return found["was_forgotten"] and not any(left)


def _show(found: dict[str, Any]) -> None:
    if found["was_forgotten"]:
        tell(f"{found['id']} was forgotten before.")
    for chat in found["chats"]:
        title = shorten(clean(chat["title"]), 70) or "(no title)"
        tell(f"Chat     {chat['id']}  {title}  ({counted(chat['messages'], 'message')})")
    if not found["chats"]:
        tell(f"Chat     {found['id']}  (not in the index)")
    tell(f"Messages {found['messages']} to be removed")
    if found["kept_messages"]:
        others = ", ".join(found["kept_with"][:5])
        tell(
            f"         {found['kept_messages']} more stay: {others} holds them too; forget that"
            " chat as well to remove them"
        )
    if found["checkpoints"]:
        tell(f"Reviews  {counted(found['checkpoints'], 'checkpoint')}")
    show_records(found["records"])


def show_records(records: list[dict[str, Any]]) -> None:
    """List the records that go, the newest first."""
    tell(f"Records  {len(records)} that cite it, in any revision or confirmation")
    shown = records[:SHOWN_RECORDS]
    ids = short_ids([record["id"] for record in shown])
    heading, days = moments("Saved", [record["recorded_at"] for record in shown])
    rows = [
        (ids[one["id"]], day, lines_of(shorten(one["statement"], STATEMENT_CHARS), _kind(one)))
        for one, day in zip(shown, days, strict=True)
    ]
    if rows:
        print_table(rows, ("ID", heading, "Record"))
    if len(records) > SHOWN_RECORDS:
        tell(f"    and {len(records) - SHOWN_RECORDS} more; --dry-run --json lists all")


def _kind(record: dict[str, Any]) -> str:
    return f"{record['kind']}, {state_words(record)}"


def _tell(done: dict[str, Any]) -> None:
    told = f"{counted(done['messages'], 'message')}, {counted(len(done['records']), 'record')}"
    tell(f"Forgot {done['id']}: {told}.")
    tell_left(done)


def tell_left(done: dict[str, Any]) -> None:
    """Say where the words still are."""
    if not done["is_scrubbed"]:
        tell(
            "The last bytes are overwritten as soon as no program reads the files; the daemon"
            " sees to it."
        )
    for path in done.get("transcripts", ()):
        tell(f"The agent's own transcript stays where it is: {clean(path)}")
    if done["older_copies"]:
        tell("Older copies may still hold the text; `mash backup rewrite` removes it from them:")
        for path in done["older_copies"]:
            tell(f"    {clean(path)}")


def restore_line(chat_id: str) -> str:
    """Let a forgotten chat in again; what was done, in one line."""
    from mash_plugin import client

    if not chat_id.strip():
        raise InvalidArgument("--restore-chat needs the ID of a chat.")
    done = client.call("restore_chat", {"id": chat_id}, timeout_s=WAIT_S)
    if not done["has_transcript"]:
        return f"{chat_id} may come back, but no transcript of it is there any more."
    if not done["restored"]:
        return f"{chat_id} may come back; its transcript is not read now. See `mash doctor`."
    return f"{chat_id} is in the index again. Records that were removed with it stay removed."
