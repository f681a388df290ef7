"""`mash recall`: what an agent is shown of the memory of this project, and why that."""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from textwrap import fill
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.record_words import kind_words
from mash_plugin.cli.tables import line_width, lines_of, print_table, short_ids
from mash_plugin.cli.telling import tell
from mash_plugin.render.text import ago, clean
from mash_plugin.wording import counted

MOST_LEFT_OUT = 20
LIKE = {
    "session-start": "A session that starts here is shown these records",
    "file-read": "A read of {file} brings these records",
    "recall_records": "The tool recall_records gives these records for {query!r}",
}
NOTHING_LIKE = {
    "session-start": "A session that starts here is shown no record of your own for this project.",
    "file-read": "A read of {file} brings no record of your own.",
    "recall_records": "The tool recall_records gives no record of your own here.",
}
LEFT_OUT = {
    "limit": "all {limit} places are taken by records that come first",
    "budget": "too long for what is left of its room",
    "suspicious": "unconfirmed, and reads like an instruction to an agent: hooks never show it",
    "damaged": "damaged: mash doctor says more",
    "conflicted": "another record contradicts it: settle which one holds",
    "stale_evidence": "its source has changed since",
    "inactive": "out of force",
    "other_owner": "another owner's: it came with an import, which --as-mine would take as yours",
}
Json = dict[str, Any]


@click.command()
@click.argument("query", nargs=-1)
@click.option("--file", metavar="F", help="As when an agent reads this file.")
@click.option("--group", is_flag=True, help="With QUERY: also what others of the group settled.")
@click.option("--explain", is_flag=True, help="Also why: the order, and what was left out.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def recall(
    query: tuple[str, ...], file: str | None, group: bool, explain: bool, as_json: bool
) -> int:
    """Show which records of this project an agent is given now.

    Without QUERY at the start of a session, with one by the tool recall_records. Nothing counts
    as shown by it. Exit code 1 when there is none.
    """
    from mash_plugin import client

    request = {
        "cwd": plain(os.getcwd()),
        "query": plain(" ".join(query)),
        "file": plain(file or ""),
    }
    given: Json = {k: v for k, v in request.items() if v}
    told = client.call("explain_recall", given | ({"group": True} if group else {}))
    shown = [one for one in told["records"] if one["outcome"] == "shown"]
    personal = told["personal"] or {"records": [], "is_shown": False}
    theirs = told["group"]["records"] if told["group"] else []
    is_any = bool(shown or theirs or (personal["is_shown"] and personal["records"]))
    if as_json:
        click.echo(orjson.dumps(told).decode())
        return 0 if is_any else 1
    _print_shown(told, shown, explain)
    _print_personal(personal)
    if told["group"]:
        _print_group(told["group"])
    if explain:
        _print_left_out(told)
        if told["scan_limited"]:
            click.echo("There are older records too: only the newest 256 are looked at.", err=True)
    for why in told["off"]:
        click.echo(f"But hooks show none of them: {lines_of(why)}.", err=True)
    return 0 if is_any else 1


def why_shown(one: Json) -> str:
    """The reasons of a record's place: `140 points: 100 it is recent, 40 …`."""
    points = one["points"]
    reasons = [
        (points["words"], "its words match the query"),
        (points["branch"], f"it names {one.get('branch_file')}, which this branch changes"),
        (points["cited"], "it was cited or confirmed in the last week"),
        (points["confirmations"], f"it was confirmed {counted(one['confirmations'], 'time')}"),
        (points["recency"], "it is recent"),
    ]
    why = ", ".join(f"{number} as {reason}" for number, reason in reasons if number)
    told = counted(one["total"], "point")
    return f"{told}: {why}" if why else told


def _print_shown(told: Json, shown: list[Json], explain: bool) -> None:
    lead = LIKE[told["like"]].format_map(told)
    if not shown:
        tell(NOTHING_LIKE[told["like"]].format_map(told), err=True)
        return
    if explain:
        click.echo(fill(f"{lines_of(lead)}, at most {told['limit']}:", line_width()))
    if told["query"]:
        _tell_matched(told["query"], [one.get("matched") is not False for one in shown])
    ids = short_ids([one["id"] for one in shown])
    rows = []
    for number, one in enumerate(shown, 1):
        cell = [one["statement"], kind_words(one)]
        if explain:
            cell += [*_standing(one, told), why_shown(one)]
        rows.append((str(number), ids[one["id"]], lines_of(*cell)))
    print_table(rows, ("", "ID", "Record"))


def _tell_matched(query: str, matched: list[bool]) -> None:
    """That what follows does not hold the words, where it only fills the places."""
    if not any(matched):
        tell(f"No record here holds a word of {query!r}. The best of the others:", err=True)
    elif not all(matched):
        which = "record holds" if sum(matched) == 1 else f"{sum(matched)} records hold"
        tell(f"Only the first {which} a word of {query!r}; the others fill its places.", err=True)


def _print_personal(personal: Json) -> None:
    """What holds in every project comes with its start, where the person wanted that."""
    if not personal["records"]:
        return
    if not personal["is_shown"]:
        tell(
            "Not your personal preferences: [recall] personal_at_start is off, so agents are given"
            " them only where they ask with include_personal.",
            err=True,
        )
        return
    click.echo("\nPersonal, in every project:")
    ids = short_ids([one["id"] for one in personal["records"]])
    rows = [
        (ids[one["id"]], lines_of(one["statement"], kind_words(one))) for one in personal["records"]
    ]
    print_table(rows, ("ID", "Record"))


def _print_group(group: Json) -> None:
    """Those of others, under their names."""
    if "note" in group:
        click.echo(f"Of the group: {group['note']}", err=True)
    elif not group["records"]:
        click.echo("Nothing that others of the group established fits.", err=True)
    if not group["records"]:
        return
    age = ago(group["now"] - group["read_at"])
    click.echo(f"\nFrom others of the group, copied {age} ago:")
    rows = []
    for one in group["records"]:
        said = {k: v for k, v in one.items() if k not in ("owner", "node_id")}
        rows.append((clean(one["owner"]), lines_of(one["statement"], kind_words(said))))
    print_table(rows, ("From", "Record"))
    click.echo("`mash records --shared` has their IDs.", err=True)


def _standing(one: Json, told: Json) -> Iterator[str]:
    """What orders before points do."""
    if told["query"] and one.get("matched") is False:
        yield "no word of the query stands in it: it fills a place that was left"
    if one["status"] == "candidate":
        yield "unconfirmed: after all that is established"
    elif one.get("decided_by") == "agent":
        yield "the agent's decision: after the person's"
    if told["file"]:
        yield f"it names {told['file']}"


def _print_left_out(told: Json) -> None:
    out = [one for one in told["records"] if one["outcome"] != "shown"] + told["left_out"]
    if not out:
        return
    click.echo(f"\nLeft out, {counted(len(out), 'record')}:")
    print_table(_left_out_rows(islice(out, MOST_LEFT_OUT), told), ("ID", "Record"))
    if len(out) > MOST_LEFT_OUT:
        click.echo(f"{len(out) - MOST_LEFT_OUT} more: --json has all of them.", err=True)


def _left_out_rows(out: Iterable[Json], told: Json) -> Iterator[tuple[str, str]]:
    found = list(out)
    ids = short_ids([one["id"] for one in found])
    for one in found:
        why = LEFT_OUT[one["outcome"]].format_map(told)
        if one["outcome"] in ("limit", "budget") and "statement" in one:
            why = f"{why} ({', '.join([*_standing(one, told), why_shown(one)])})"
        yield ids[one["id"]], lines_of(one.get("statement", ""), why)
