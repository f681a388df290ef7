"""`mash records`: what is remembered, page by page; with --shared what a group published."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import click
import orjson

from mash_plugin.cli.asking import Page, call_here, more_of, plain
from mash_plugin.cli.record_words import kind_words, place
from mash_plugin.cli.tables import lines_of, moments, print_table, short_ids
from mash_plugin.render.text import clean
from mash_plugin.wording import counted

PAGE = 50
Json = dict[str, Any]


class _Asked(NamedTuple):
    """What the person wants to see, and as what."""

    text: tuple[str, ...]
    here: bool
    show_all: bool
    limit: int
    offset: int
    as_json: bool

    @property
    def wanted(self) -> str:
        """The words that a record must hold."""
        return plain(" ".join(self.text))


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
    if node is not None and not shared:
        raise click.UsageError("--node needs --shared.")
    asked = _Asked(text, here, show_all, limit, offset, as_json)
    return _show_shared(asked, node) if shared else _show_own(asked)


def _show_own(asked: _Asked) -> int:
    found = _matching(asked)
    # What took the place of another is as new as that one's end, and stands above it.
    found.sort(key=lambda one: (-one["recorded_at"], one.get("state") == "superseded"))
    end = asked.offset + asked.limit
    page, following = found[asked.offset : end], end if len(found) > end else None
    if asked.as_json:
        return _print_json(page, following)
    if page:
        ids = short_ids([one["id"] for one in page])
        _print_page(page, [ids[one["id"]] for one in page], "mash record ID")
    imported = sum("owner" in one for one in found)
    if imported:
        own = counted(len(found) - imported, "record")
        click.echo(f"{own} of yours, {imported} of another owner: those reach no agent.", err=True)
    if following is not None:
        click.echo(_more(asked, asked.text, following, len(found)), err=True)
    if found and not page:
        click.echo(f"There are only {len(found)} of them.", err=True)
    elif not page:
        click.echo(f"No records found.{_hint(asked)}", err=True)
    if page and not asked.show_all:
        _tell_left_out(asked, len(found))
    return 0 if page else 1


def _tell_left_out(asked: _Asked, shown: int) -> None:
    """Whoever has just seen an agent save a candidate looks for it here."""
    others = len(_matching(asked._replace(show_all=True))) - shown
    if others > 0:
        click.echo(f"--all shows {others} more, unconfirmed or out of force.", err=True)


def _matching(asked: _Asked) -> list[Json]:
    return [one for one in _own(asked) if _holds(one, asked.wanted)]


def _show_shared(asked: _Asked, node: str | None) -> int:
    """A page of a list that nobody counts: it may be that of thousands of members."""
    end = asked.offset + asked.limit
    matching = (one for one in _shared(asked, node) if _holds(one, asked.wanted))
    found = [*islice(matching, asked.offset, end + 1)]
    page, following = found[: asked.limit], end if len(found) > asked.limit else None
    if asked.as_json:
        return _print_json(page, following)
    if page:
        _print_page(page, [clean(one["id"]) for one in page], "mash record ID --node NODE")
    else:
        click.echo(f"No shared records found.{_hint(asked)}", err=True)
    if following is not None:
        words = (*asked.text, "--shared", *(("--node", node) if node is not None else ()))
        click.echo(_more(asked, words, following), err=True)
    return 0 if page else 1


def _own(asked: _Asked) -> Iterator[Json]:
    offset: int | None = 0
    while offset is not None:
        request = {"limit": PAGE, "offset": offset, "include_inactive": asked.show_all}
        result = call_here("list_records", request, asked.here)
        yield from result["records"]
        offset = result["next_offset"]


def _shared(asked: _Asked, node: str | None) -> Iterator[Json]:
    request: Json = {"shared": True, "include_inactive": asked.show_all, "limit": PAGE}
    request |= {"node_id": plain(node)} if node is not None else {}
    cursor: Json = {}
    while True:
        result = call_here("list_records", request | cursor, asked.here)
        yield from result["records"]
        if result["next_cursor"] is None:
            return
        cursor = {"cursor": result["next_cursor"]}


def _print_json(page: list[Json], following: int | None) -> int:
    click.echo(orjson.dumps({"records": page, "next_offset": following}).decode())
    return 0 if page else 1


def _print_page(page: list[Json], ids: list[str], command: str) -> None:
    heading, days = moments("Saved", [one["recorded_at"] for one in page])
    rows = list(zip(ids, days, map(_summary, page), strict=True))
    print_table(rows, ("ID", heading, "Record"))
    click.echo(f"One with its evidence: {command}", err=True)


def _more(asked: _Asked, words: tuple[str, ...], following: int, of: int | None = None) -> str:
    flags = {"--here": asked.here, "--all": asked.show_all}
    return more_of("records", words, flags, Page(asked.limit, asked.offset, following, of))


def _hint(asked: _Asked) -> str:
    return "" if asked.show_all else " --all shows unconfirmed and retired ones too."


def _holds(record: Json, wanted: str) -> bool:
    """Whether every word stands in a text of the record, in any of its forms."""
    if not wanted.strip():
        return True
    from mash_plugin.spellings import spellings
    from mash_plugin.tokens import words

    parts = [record["statement"], record["id"], *map(str, record["scope"].values())]
    for name in ("alternatives", "consequences", "conditions"):
        parts += record.get(name, [])
    needed = words(wanted)
    if not needed:
        return wanted.casefold() in " ".join(parts).casefold()
    held = set(words(" ".join(parts)))
    return spellings(needed, held).held_by(held).issuperset(needed)


def _summary(one: Json) -> str:
    return lines_of(one["statement"], f"{kind_words(one)}, {place(one['scope'])}")
