"""`mash records` and `mash record`: what is remembered, for people."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import call_here, more_of, plain
from mash_plugin.cli.record_words import kind_words, place
from mash_plugin.cli.tables import lines_of, print_table, short_ids, when
from mash_plugin.render.text import clean
from mash_plugin.wording import counted

PAGE = 50
Json = dict[str, Any]


@click.command()
@click.argument("text", nargs=-1)
@click.option("--here", is_flag=True, help="Only records of the project in this folder.")
@click.option("--all", "show_all", is_flag=True, help="Also unconfirmed and retired records.")
@click.option("--limit", type=click.IntRange(1), default=20, help="Records on one page.")
@click.option("--offset", type=click.IntRange(0), default=0, help="Where the page begins.")
@click.option("--shared", is_flag=True, help="What your group has published, node by node.")
@click.option("--node", metavar="ID", help="With --shared: only what this node has published.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
def records(
    text: tuple[str, ...],
    here: bool,
    show_all: bool,
    limit: int,
    offset: int,
    shared: bool,
    node: str | None,
    as_json: bool,
) -> int:
    """Show what is remembered, the newest first: all of it, or what holds the words TEXT.

    Exit code 1 when there is none.
    """
    wanted = plain(" ".join(text))
    if node is not None and not shared:
        raise click.UsageError("--node needs --shared.")
    if shared:
        request: Json = {"shared": True, "include_inactive": show_all, "limit": PAGE}
        request |= {"node_id": plain(node)} if node is not None else {}
        matching = (one for one in _shared(here, request) if _holds(one, wanted))
        page = [*islice(matching, offset, offset + limit + 1)]
        return _show_shared(page, text, here, show_all, node, limit, offset, as_json)
    found = [one for one in _every(here, show_all) if _holds(one, wanted)]
    page = found[offset : offset + limit]
    following = offset + limit if len(found) > offset + limit else None
    if as_json:
        click.echo(orjson.dumps({"records": page, "next_offset": following}).decode())
        return 0 if page else 1
    if page:
        ids = short_ids([one["id"] for one in page])
        rows = [(ids[one["id"]], when(one["recorded_at"]), _summary(one)) for one in page]
        print_table(rows, ("ID", "Saved", "Record"))
        click.echo("One with its evidence: mash record ID", err=True)
    imported = sum("owner" in one for one in found)
    if imported:
        own = counted(len(found) - imported, "record")
        click.echo(f"{own} of yours, {imported} of another owner: those reach no agent.", err=True)
    if following is not None:
        place = f"{offset + 1}-{offset + len(page)} of {len(found)}."
        more = more_of("records", text, {"--here": here, "--all": show_all}, limit, following)
        click.echo(f"{place} {more}", err=True)
    if found and not page:
        click.echo(f"There are only {len(found)} of them.", err=True)
    elif not page:
        hint = "" if show_all else " --all shows unconfirmed and retired ones too."
        click.echo(f"No records found.{hint}", err=True)
    return 0 if page else 1


def _every(here: bool, show_all: bool) -> Iterator[Json]:
    offset: int | None = 0
    while offset is not None:
        request = {"limit": PAGE, "offset": offset, "include_inactive": show_all}
        result = call_here("list_records", request, here)
        yield from result["records"]
        offset = result["next_offset"]


def _shared(here: bool, request: Json) -> Iterator[Json]:
    cursor: Json = {}
    while True:
        result = call_here("list_records", request | cursor, here)
        yield from result["records"]
        if result["next_cursor"] is None:
            return
        cursor = {"cursor": result["next_cursor"]}


def _show_shared(
    found: list[Json],
    text: tuple[str, ...],
    here: bool,
    show_all: bool,
    node: str | None,
    limit: int,
    offset: int,
    as_json: bool,
) -> int:
    """A page of a list that nobody counts: it may be that of thousands of members."""
    page, following = found[:limit], offset + limit if len(found) > limit else None
    if as_json:
        click.echo(orjson.dumps({"records": page, "next_offset": following}).decode())
    elif page:
        rows = [(clean(one["id"]), when(one["recorded_at"]), _summary(one)) for one in page]
        print_table(rows, ("ID", "Saved", "Record"))
        click.echo("One with its evidence: mash record ID --node NODE", err=True)
    else:
        hint = "" if show_all else " --all shows unconfirmed and retired ones too."
        click.echo(f"No shared records found.{hint}", err=True)
    if following is not None and not as_json:
        words = (*text, "--shared", *(("--node", node) if node is not None else ()))
        flags = {"--here": here, "--all": show_all}
        click.echo(more_of("records", words, flags, limit, following), err=True)
    return 0 if page else 1


def _holds(record: Json, wanted: str) -> bool:
    """Whether every word stands in a text of the record, in any of its forms."""
    if not wanted.strip():
        return True
    from mash_plugin.tokens import words

    parts = [record["statement"], record["id"], *map(str, record["scope"].values())]
    for name in ("alternatives", "consequences", "conditions"):
        parts += record.get(name, [])
    needed = set(words(wanted))
    if not needed:
        return wanted.casefold() in " ".join(parts).casefold()
    return needed <= set(words(" ".join(parts)))


def _summary(one: Json) -> str:
    return lines_of(one["statement"], f"{kind_words(one)}, {place(one['scope'])}")
