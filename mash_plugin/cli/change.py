"""What the person does to records with their own hand; every command shows it first and asks."""

import os
import sys
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.consent import confirmed, mark_of_session, refuse_in_session
from mash_plugin.cli.record_page import record_rows
from mash_plugin.cli.record_words import state_words
from mash_plugin.cli.session_ids import SessionId
from mash_plugin.cli.tables import lines_of, moments, print_table, short_ids
from mash_plugin.render.text import clean, local_date

DONE_WORDS = {
    "establish": "Established",
    "edit": "Edited",
    "withdraw": "Withdrawn",
    "forget": "Forgotten",
    "undo": "Brought back",
}
HINTS = {"edit": " (--statement TEXT does without an editor)"}
OLD_BACKUPS = (
    "Backups that were made with it still hold it: `mash backup rewrite` removes it there."
)
NOTHING_HIDDEN = (
    "Nothing can be brought back: no record is hidden. What was forgotten with your own words, or"
    " by your hand, is removed at once; only a forget that an agent asked for on its own waits a"
    " day."
)
STALE = "Its source has changed: agents are not told it by themselves."
STALE_WORDS = {
    "by_hand": "again told to agents, by your own word; quotes that changed stay in the history",
    "stale": "still not told to agents by themselves: `mash establish` makes it yours",
}
Json = dict[str, Any]


@click.command()
@click.argument("record_id", metavar="ID")
def establish(record_id: str) -> None:
    """Make a record your own settled choice, without further words as evidence.

    A candidate becomes established, a proposal accepted, an agent's decision yours. The
    citations stay, and the history says "by the person at the terminal". What is out of force
    because its source has changed is back in force; the changed quotes stay in the history.
    """
    _require_terminal()
    told = _ask("establish", id=plain(record_id))
    _show(told)
    _do(told, "Establish it?")


@click.command()
@click.argument("record_id", metavar="ID")
@click.option("--statement", metavar="TEXT", help="The new wording; without it your editor opens.")
def edit(record_id: str, statement: str | None) -> None:
    """Change the wording of a record; its citations and its standing stay.

    Opens $EDITOR, or takes the wording from --statement. `mash record` then says that you
    reworded it, for its quotes are what the earlier wording rests on. What is yours and out of
    force because its source has changed is back in force with it.
    """
    _require_terminal()
    told = _ask("edit", id=plain(record_id))
    if statement is None:
        text = _edited(told["record"].get("statement", ""))
        if text is None or text.strip() == told["record"].get("statement"):
            _leave()
        statement = text or ""
    told = _ask("edit", id=told["record"]["id"], statement=plain(statement).strip())
    _show(told)
    _do(told, "Save this wording?", statement=plain(statement).strip())


@click.command()
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--chat", metavar="ID", help="All that the session of this chat saved.")
@click.option(
    "--session", type=SessionId(), metavar="ID", help="All that this session saved; or `newest`."
)
def withdraw(record_id: str | None, chat: str | None, session: str | None) -> None:
    """Take a record out of force, or take back all that one session saved.

    For a session that was led astray: records that it made are withdrawn, those that it
    changed or superseded get the last wording of others back, its confirmations and links go,
    and what it asked to forget comes back. Nothing is removed: the history keeps it all.
    """
    if [record_id, chat, session].count(None) != 2:
        raise click.UsageError(
            "Give one of: the ID of a record, --chat or --session.", click.get_current_context()
        )
    _require_terminal()
    if record_id is not None:
        told = _ask("withdraw", id=plain(record_id))
        _show(told)
        _do(told, "Withdraw it for good? A new record is needed to say it again.")
        return
    if chat:
        from mash_plugin.cli.chat_names import whole_chat_id

        chat = whole_chat_id(plain(chat))
    which = {"chat_id": chat} if chat else {"session_id": plain(session or "")}
    _withdraw_session(which)


@click.command()
@click.argument("record_id", metavar="ID")
def forget_record(record_id: str) -> None:
    """Remove a record for good, at once: every wording, quote, confirmation and link."""
    _require_terminal()
    told = _ask("forget", id=plain(record_id))
    _show(told)
    _do(told, "This cannot be undone. Remove it for good?")
    from mash_plugin.paths import find_paths
    from mash_plugin.store.backup import backups

    if backups(find_paths(os.environ).backups):
        click.echo(OLD_BACKUPS, err=True)


@click.command()
@click.argument("record_id", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def undo(record_id: str | None, as_json: bool) -> None:
    """Bring back a record that an agent asked to forget; without ID, list them, or take the one.

    What you had established is only hidden by an agent's forget, and removed 24 hours later.
    """
    if record_id is None:
        hidden = _list_hidden(as_json)
        if len(hidden) != 1 or as_json:
            return
        ((record_id, start),) = hidden.items()
        if not sys.stdin.isatty() or mark_of_session():
            click.echo(f"`mash undo {start}` brings it back.", err=True)
            return
        told = _ask("undo", id=record_id)
    else:
        _require_terminal()
        told = _ask("undo", id=plain(record_id))
        _show(told)
    _do(told, "Bring it back?")


def _require_terminal() -> None:
    """Exit code 2 where no person can be asked: an agent's shell and a script have no say here."""
    context = click.get_current_context()
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"`{context.command_path}` acts on your own word alone: run it in a terminal of your"
            f" own, where it can ask you{HINTS.get(str(context.info_name), '')}. Agents use"
            " the tool `record` with your words as evidence.",
            context,
        )
    refuse_in_session(f"`{context.command_path}` acts on your own word alone")


def _ask(action: str, **request: Any) -> Json:  # noqa: ANN401 - JSON
    from mash_plugin import client

    return client.call("terminal_change", {"action": action, **request})


def _show(told: Json) -> None:
    rows = record_rows(told["record"])
    if becomes := told.get("becomes"):
        text = [becomes["statement"]] if told["action"] == "edit" else []
        stands = STALE_WORDS.get(becomes.get("evidence", ""), "")
        rows.append(("Becomes", lines_of(*text, state_words(becomes), stands)))
    print_table(rows)


def _do(told: Json, question: str, **request: str) -> None:
    """Ask, then make the change that was told."""
    _confirm(question)
    at = {"id": told["record"]["id"], "revision": told["record"]["revision"]}
    done = _ask(told["action"], **at, **request)
    record = done.get("record", {})
    number = f", revision {record['revision']}" if told["action"] in ("establish", "edit") else ""
    click.echo(f"{DONE_WORDS[told['action']]}: {clean(at['id'])}{number}")
    if record.get("status") == "stale_evidence":
        click.echo(f"{STALE} `mash establish` makes it yours, as it is.", err=True)
    if told["action"] == "edit" and record.get("status") == "inactive":
        click.echo("It stays out of force: agents are not told it.", err=True)


def _confirm(question: str) -> None:
    if not confirmed(question):
        _leave()


def _edited(statement: str) -> str | None:
    """What the person's editor made of it; None when it saved nothing."""
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        raise click.ClickException(
            "No editor is named in EDITOR. Give the new wording with --statement TEXT, or set"
            " EDITOR."
        )
    click.echo("Your editor opens; --statement TEXT would do without it.", err=True)
    try:
        return click.edit(statement + "\n", extension=".txt")
    except click.ClickException as error:
        editor = error.format_message().partition(":")[0]
        raise click.ClickException(
            f"The editor {editor!r} could not be started, or failed. Name another one in EDITOR, or"
            " give the new wording with --statement TEXT."
        ) from None


def _leave() -> None:
    click.echo("Nothing was changed.")
    click.get_current_context().exit(1)


def _list_hidden(as_json: bool) -> dict[str, str]:
    """Show what can be brought back; the IDs, each with its beginning that is enough."""
    from mash_plugin import client

    hidden = client.call("terminal_hidden", {})["records"]
    ids = short_ids([one["record"]["id"] for one in hidden])
    if as_json:
        click.echo(orjson.dumps({"records": hidden}).decode())
        return ids
    heading, days = moments("Hidden", [one["hidden_at"] for one in hidden])
    rows = [
        (
            ids[one["record"]["id"]],
            day,
            lines_of(
                one["record"].get("statement", "(its text is not shown)"),
                f"hidden by session {one['hidden_by']}" if one["hidden_by"] else "",
                f"removed for good on {local_date(one['removed_at'])}",
            ),
        )
        for one, day in zip(hidden, days, strict=True)
    ]
    if rows:
        print_table(rows, ("ID", heading, "Record"))
    if len(rows) != 1:
        click.echo("`mash undo ID` brings one back." if rows else NOTHING_HIDDEN, err=True)
    return ids


def _withdraw_session(which: Json) -> None:
    from mash_plugin import client

    told = client.call("terminal_withdraw", which)
    click.echo(f"Session {clean(told['session_id'])} saved:")
    ids = short_ids([step["id"] for step in told["records"]])
    heading, days = moments("Saved", [step["recorded_at"] for step in told["records"]])
    steps = [
        (ids[step["id"]], day, _told_step(step))
        for step, day in zip(told["records"], days, strict=True)
    ]
    if steps:
        print_table(steps, ("ID", heading, "Record"))
    for name in ("confirmations", "links"):
        if told[name]:
            click.echo(f"{name}: {told[name]} will go")
    for record_id in told["brought_back"]:
        click.echo(f"{clean(record_id)} was hidden by it and will come back")
    actions = [step["action"] for step in told["records"]]
    goes = told["confirmations"] or told["links"] or told["brought_back"]
    if not goes and not {"withdraw", "restore"} & set(actions):
        raise click.ClickException("Nothing of this session is left to take back.")
    _confirm("Take all of this back?")
    again = {"session_id": told["session_id"], "digest": told["digest"]}
    done = client.call("terminal_withdraw", again)
    actions = [step["action"] for step in done["records"]]
    counts = {
        "withdrawn": actions.count("withdraw"),
        "with the former wording": actions.count("restore"),
        "brought back": len(done["brought_back"]),
        "confirmations removed": done["confirmations"],
        "links removed": done["links"],
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    click.echo(f"Taken back: {', '.join(parts) or 'nothing'}.")


def _told_step(step: Json) -> str:
    """A record of the session, and what becomes of it."""
    match step["action"]:
        case "withdraw":
            what = "will be withdrawn"
        case "restore":
            what = f"will be as in revision {step['restored_revision']}"
            if "restored_statement" in step:
                what += f" ({step['restored_state']}): {step['restored_statement']}"
        case _ if step["is_retired"]:
            what = "stays out of force"
        case _:
            what = "stays: you or another session changed it since"
    statement = step.get("statement", "(its text is not shown)")
    return lines_of(statement, what)
