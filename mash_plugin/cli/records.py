"""`mash records`: what is remembered, for people."""

from collections.abc import Iterator
from typing import Any

import click
import orjson

from mash_plugin.cli.chats import call_here, plain
from mash_plugin.render.context import record_labels
from mash_plugin.render.text import clean, local_date

PAGE = 50
STATUS_WORDS = {
    "candidate": "unconfirmed",
    "stale_evidence": "its source has changed",
    "inactive": "out of force",
}


@click.command()
@click.argument("text", nargs=-1)
@click.option("--here", is_flag=True, help="Only records of the project in this folder.")
@click.option("--all", "show_all", is_flag=True, help="Also unconfirmed and retired records.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="Where the page begins.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
def records(
    text: tuple[str, ...], here: bool, show_all: bool, limit: int, offset: int, as_json: bool
) -> int:
    """Show what is remembered, the newest first: all of it, or what holds the words TEXT.

    Exit code 1 when there is none.
    """
    wanted = plain(" ".join(text))
    found = [one for one in _every(here, show_all) if _holds(one, wanted)]
    page = found[offset : offset + limit]
    following = offset + limit if len(found) > offset + limit else None
    if as_json:
        click.echo(orjson.dumps({"records": page, "next_offset": following}).decode())
        return 0 if page else 1
    for one in page:
        for line in _lines(one):
            click.echo(line)
    if following is not None:
        click.echo(f"More: mash records ... --limit {limit} --offset {following}", err=True)
    if not page:
        hint = "" if show_all else " --all shows unconfirmed and retired ones too."
        click.echo(f"No records found.{hint}", err=True)
    return 0 if page else 1


def _every(here: bool, show_all: bool) -> Iterator[dict[str, Any]]:
    offset: int | None = 0
    while offset is not None:
        request = {"limit": PAGE, "offset": offset, "include_inactive": show_all}
        result = call_here("list_records", request, here)
        yield from result["records"]
        offset = result["next_offset"]


def _holds(record: dict[str, Any], wanted: str) -> bool:
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


def _lines(record: dict[str, Any]) -> Iterator[str]:
    labels = record_labels(record)
    if record["status"] not in ("current", "candidate"):
        labels.append(STATUS_WORDS.get(record["status"], record["status"]))
    if record.get("conflicted"):
        labels.append("contradicted")
    kind = clean(f"{record['kind']} ({', '.join(labels)})" if labels else record["kind"])
    scope = record["scope"]
    place = scope.get("identity") or scope.get("path") or scope.get("id") or scope["kind"]
    when = local_date(record["recorded_at"], None)
    yield f"{when}  {kind}  {clean(str(place))}"
    yield f"    {clean(record['statement'])}"
    yield f"    ID {record['id']}"
