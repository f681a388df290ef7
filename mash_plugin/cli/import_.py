"""`mash import`: an export of a mash, or what another tool remembers, into this memory.

--as-mine makes every record of the file the person's own word, whoever wrote it there: it asks
the person, at a terminal, about the very file that it then takes in. --keep-identity brings in
established records too, but nothing that stands beside what the person has: it needs an empty
store, and a machine that is set up by a script has nobody to ask. So it only refuses the
unattended way inside an agent's session, where `mash export`, a change of the file and an
emptied store would come to the same. Who hides the session could write the store itself.
"""

import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

import click
import orjson

from mash_plugin.cli.consent import refuse_in_session, require_yes
from mash_plugin.cli.export import held, scope_of
from mash_plugin.render.text import clean, local_date, shorten
from mash_plugin.wording import counted

SOURCES = ("claude-memory", "rules", "claude-mem")
SHOWN = 200
STATEMENT_CHARS = 200
UNASKED = "there is no terminal to ask on; to import it all the same, add --yes."
LEFT_OUT = (
    ("known_records", "record", "came with an earlier import: they stay as they are here"),
    ("same_records", "record", "say what a record of yours says"),
    ("forgotten_records", "record", "were forgotten, or rest on a forgotten chat"),
    ("switched_off_chats", "chat", "belong to projects that are not indexed here"),
    ("forgotten_chats", "chat", "you have forgotten"),
)
"""Which count of an import → of what, and why they were not taken in."""
WHOSE = {
    "export": "They stay another owner's and reach no agent; --as-mine takes them as yours.",
    "mine": "All of it becomes your own word, whoever wrote it there: agents get it as yours.",
}
NOTHING_NEW = (
    "This is an export of this very store, and nothing in it is new: nothing to do. --yes takes in"
    " a second set all the same, as another owner's."
)
Json = dict[str, Any]


@click.command("import")
@click.argument("file", required=False, type=click.Path())
@click.option(
    "--keep-identity", is_flag=True, help="Bring the store itself back; needs an empty one."
)
@click.option(
    "--as-mine", is_flag=True, help="Take the records over as your own; asks you in any case."
)
@click.option("--from", "source", type=click.Choice(SOURCES), help="FILE is another tool's memory.")
@click.option("--scope", "scope", metavar="SCOPE", help="With --from: where it shall hold.")
@click.option("--undo", metavar="ID", help="Remove what an import with --from brought.")
@click.option("--dry-run", is_flag=True, help="Only say what would come.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON; needs --yes.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def import_(
    file: str | None,
    keep_identity: bool,
    as_mine: bool,
    source: str | None,
    scope: str | None,
    undo: str | None,
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> int:
    """Take in an export: all of it, or nothing.

    Its records become those of another owner, under new IDs: you can list them, and agents are
    not given them. --as-mine makes them yours: only you can say so, at a terminal.
    --keep-identity restores the store with its IDs and receipts; then retire the original.

    --from takes in another tool's memory as candidates, which you can look at before and take
    back with --undo:

    \b
      claude-memory   a folder of Claude Code's auto memory (projects/NAME/memory)
      rules           a CLAUDE.md or AGENTS.md
      claude-mem      the JSON that claude-mem's worker gives out

    The same file is taken in once, and what you have forgotten here does not come back with it.
    ^C leaves everything as it was.
    """
    if undo is not None:
        return _undo(undo, as_json=as_json)
    _refuse_mixed(source, scope, keep_identity=keep_identity, as_mine=as_mine)
    if file is None:
        raise click.UsageError("name the FILE to import.")
    request: Json = {"path": os.path.abspath(file)}
    if source:
        request |= {"source": source} | ({"scope": scope_of(scope)} if scope else {})
        return _run("import_memory", request, _show_memory, dry_run, as_json, yes)
    _refuse_rules(file)
    if not dry_run:
        _require_person(as_mine=as_mine, keep_identity=keep_identity, is_asked=not (yes or as_json))
    request["mode"] = "identity" if keep_identity else "mine" if as_mine else "export"
    return _run("import_export", request, _show_export, dry_run, as_json, yes)


def _refuse_mixed(
    source: str | None, scope: str | None, *, keep_identity: bool, as_mine: bool
) -> None:
    """Exit code 2 for options that do not go together."""
    if keep_identity and as_mine:
        raise click.UsageError("--keep-identity and --as-mine exclude each other.")
    if source and (keep_identity or as_mine):
        raise click.UsageError("--from brings candidates; leave the other options out.")
    if scope and not source:
        raise click.UsageError("--scope goes with --from.")


def _refuse_rules(file: str) -> None:
    """Exit code 2 for a file of rules that is given as an export."""
    if file.endswith(".md") and os.path.exists(file):
        raise click.UsageError(
            f"{file} is no export. To take in its rules: mash import {shlex.quote(file)} --from"
            " rules"
        )


def _require_person(*, as_mine: bool, keep_identity: bool, is_asked: bool) -> None:
    """Exit code 2 where records would become the person's own without the person."""
    is_asked = is_asked and sys.stdin.isatty()
    if as_mine and not is_asked:
        context = click.get_current_context()
        raise click.UsageError(
            "--as-mine makes what stands in the file your own word, so it asks you: run it in a"
            " terminal of your own, without --yes and --json. --dry-run works anywhere.",
            context,
        )
    if as_mine:
        refuse_in_session("--as-mine makes what stands in the file your own word")
    if keep_identity:
        refuse_in_session("--keep-identity replaces your memory as a whole")


def _run(
    method: str,
    request: Json,
    show: Callable[[Json], None],
    dry_run: bool,
    as_json: bool,
    yes: bool,
) -> int:
    from mash_plugin.cli.transfers import run_transfer

    if dry_run or not yes:
        found = run_transfer(method, request | {"dry_run": True})
        if as_json and dry_run:
            click.echo(orjson.dumps(found).decode())
        else:
            show(found)
        if dry_run or found["already"] or found.get("records") == [] or _is_nothing_new(found):
            return 0
        as_own = "Take all of it in as your own word?" if found.get("mode") == "mine" else None
        require_yes(as_own or "Take this in?", UNASKED, is_answerable=not as_json)
        if "checksum" in found:  # this very file, whatever lies there by now
            request |= {"checksum": found["checksum"]}
    done = run_transfer(method, request)
    if as_json:
        click.echo(orjson.dumps(done).decode())
    else:
        show(done)
    if done["notice"]:
        click.echo(f"mash: {clean(done['notice'])}", err=True)
    return 0


def _show_export(found: Json) -> None:
    header, counts = found["header"], found["counts"]
    if found["already"]:
        _show_already(found["already"])
        return
    if found["dry_run"]:
        made = local_date(header["made_at"])
        click.echo(f"Made     {made} by {clean(header['made_by'])}")
        click.echo(f"Holds    {held(found['lines'])}")
    lead = "Would take in" if found["dry_run"] else "Took in"
    click.echo(
        f"{lead} {counted(counts['records'], 'record')}, {counted(counts['links'], 'link')},"
        f" {counted(counts['chats'], 'chat')} with {counted(counts['messages'], 'message')}."
    )
    if counts["records"] and found["mode"] in WHOSE:
        click.echo(WHOSE[found["mode"]])
    if counts["copies"]:
        click.echo(f"Of these, {counted(counts['copies'], 'record')} you have as your own already.")
    for name, what, why in LEFT_OUT:
        if counts[name]:
            click.echo(f"Left out: {counted(counts[name], what)} that {why}.")
    if counts["known_chats"]:
        click.echo(f"Known already: {counted(counts['known_chats'], 'chat')}.")
    if found["dry_run"] and _is_nothing_new(found):
        click.echo(NOTHING_NEW)


def _is_nothing_new(found: Json) -> bool:
    """Whether an export of this very store holds nothing that it does not hold itself."""
    counts = found["counts"] if "header" in found else {}
    is_own = counts.get("is_own_store", False) and found["mode"] == "export"
    return is_own and counts["records"] == counts["copies"] and not counts["chats"]


def _show_memory(found: Json) -> None:
    if found["already"]:
        _show_already(found["already"])
        return
    lead = "Would become" if found["dry_run"] else "Became"
    click.echo(f"{lead} {counted(len(found['records']), 'candidate')} of {_place(found)}:")
    for record in found["records"][:SHOWN]:
        click.echo(
            f"    {record['kind']:<11}{shorten(clean(record['statement']), STATEMENT_CHARS)}"
        )
    if len(found["records"]) > SHOWN:
        how = "--dry-run --json" if found["dry_run"] else "`mash records --all`"
        click.echo(f"    and {len(found['records']) - SHOWN} more; {how} lists all")
    for reason, number in found["left_out"].items():
        click.echo(f"Left out: {number} {clean(reason)}.")
    if not found["dry_run"] and found["records"]:
        click.echo(f"To take it back: mash import --undo {found['import_id']}")


def _place(found: Json) -> str:
    kind, value = found["scope"]
    return "yours in every project" if kind == "personal" else clean(value)


def _show_already(already: Json) -> None:
    click.echo(
        f"This was taken in {local_date(already['imported_at'])}"
        f" ({counted(already['records'], 'record')}, import {already['import_id']}): nothing to do."
    )


def _undo(import_id: str, *, as_json: bool) -> int:
    from mash_plugin import client

    done = client.call("undo_import", {"id": import_id})
    if as_json:
        click.echo(orjson.dumps(done).decode())
        return 0
    click.echo(f"Took back {counted(done['removed'], 'candidate')}.")
    if done["kept"]:
        told = ", ".join(map(clean, done["kept"][:10]))
        click.echo(f"Changed since, so they stay: {told}")
    return 0
