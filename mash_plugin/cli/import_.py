"""`mash import`: an export of a mash, or what another tool remembers, into this memory."""

import os
import sys
from typing import Any

import click
import orjson

from mash_plugin.cli.export import WAIT_S, held, scope_of
from mash_plugin.cli.tables import many
from mash_plugin.render.text import clean, local_date, shorten

SOURCES = ("claude-memory", "rules", "claude-mem")
SHOWN = 200
STATEMENT_CHARS = 200
Json = dict[str, Any]


@click.command("import")
@click.argument("file", required=False, type=click.Path())
@click.option(
    "--keep-identity", is_flag=True, help="Bring the store itself back; needs an empty one."
)
@click.option("--as-mine", is_flag=True, help="Take the records over as your own.")
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
    not given them. --as-mine makes them yours. --keep-identity restores the store with its IDs
    and receipts; then retire the original.

    --from takes in another tool's memory as candidates, which you can look at before and take
    back with --undo:

    \b
      claude-memory   a folder of Claude Code's auto memory (projects/NAME/memory)
      rules           a CLAUDE.md or AGENTS.md
      claude-mem      the JSON that claude-mem's worker gives out

    The same file is taken in once, and what you have forgotten here does not come back with it.
    """
    if undo is not None:
        return _undo(undo, as_json=as_json)
    if file is None:
        raise click.UsageError("name the FILE to import.")
    if keep_identity and as_mine:
        raise click.UsageError("--keep-identity and --as-mine exclude each other.")
    if source and (keep_identity or as_mine):
        raise click.UsageError("--from brings candidates; leave the other options out.")
    if scope and not source:
        raise click.UsageError("--scope goes with --from.")
    path = os.path.abspath(file)
    if source:
        request: Json = {"source": source, "path": path}
        request |= {"scope": scope_of(scope)} if scope else {}
        return _run("import_memory", request, _show_memory, dry_run, as_json, yes)
    mode = "identity" if keep_identity else "mine" if as_mine else "export"
    return _run("import_export", {"path": path, "mode": mode}, _show_export, dry_run, as_json, yes)


def _run(method: str, request: Json, show: Any, dry_run: bool, as_json: bool, yes: bool) -> int:  # noqa: ANN401
    from mash_plugin import client

    if dry_run or not yes:
        found = client.call(method, request | {"dry_run": True}, timeout_s=WAIT_S)
        if as_json and dry_run:
            click.echo(orjson.dumps(found).decode())
        else:
            show(found)
        if dry_run or found["already"] or found.get("records") == []:
            return 0
        _ask(is_answerable=not as_json)
    done = client.call(method, request, timeout_s=WAIT_S)
    if as_json:
        click.echo(orjson.dumps(done).decode())
    else:
        show(done)
    if done["notice"]:
        click.echo(f"mash: {clean(done['notice'])}", err=True)
    return 0


def _ask(*, is_answerable: bool) -> None:
    if not (is_answerable and sys.stdin.isatty()):
        raise click.UsageError(
            "there is no terminal to ask on; to import it all the same, add --yes."
        )
    if not click.confirm("Take this in?", default=False, err=True):
        click.echo("Nothing was changed.")
        click.get_current_context().exit(1)


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
        f"{lead} {many(counts['records'], 'record')}, {many(counts['links'], 'link')},"
        f" {many(counts['chats'], 'chat')} with {many(counts['messages'], 'message')}."
    )
    for name, why in (
        ("known_records", "came with an earlier import and stay as they are here"),
        ("same_records", "say what a record of yours says"),
        ("forgotten_records", "were forgotten, or rest on a forgotten chat"),
    ):
        if counts[name]:
            click.echo(f"Left out: {many(counts[name], 'record')} that {why}.")
    if counts["known_chats"]:
        click.echo(f"Known already: {many(counts['known_chats'], 'chat')}.")
    if counts["switched_off_chats"]:
        told = many(counts["switched_off_chats"], "chat")
        click.echo(f"Left out: {told} of projects that are not indexed here.")
    if counts["forgotten_chats"]:
        click.echo(f"Left out: {many(counts['forgotten_chats'], 'chat')} that you have forgotten.")


def _show_memory(found: Json) -> None:
    if found["already"]:
        _show_already(found["already"])
        return
    lead = "Would become" if found["dry_run"] else "Became"
    click.echo(f"{lead} {many(len(found['records']), 'candidate')} of {_place(found)}:")
    for record in found["records"][:SHOWN]:
        click.echo(
            f"    {record['kind']:<11}{shorten(clean(record['statement']), STATEMENT_CHARS)}"
        )
    if len(found["records"]) > SHOWN:
        click.echo(f"    and {len(found['records']) - SHOWN} more; --dry-run --json lists all")
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
        f" ({many(already['records'], 'record')}, import {already['import_id']}): nothing to do."
    )


def _undo(import_id: str, *, as_json: bool) -> int:
    from mash_plugin import client

    done = client.call("undo_import", {"id": import_id}, timeout_s=WAIT_S)
    if as_json:
        click.echo(orjson.dumps(done).decode())
        return 0
    click.echo(f"Took back {many(done['removed'], 'candidate')}.")
    if done["kept"]:
        told = ", ".join(map(clean, done["kept"][:10]))
        click.echo(f"Changed since, so they stay: {told}")
    return 0
