"""`mash records` and `mash record`: what is remembered, for people."""

from collections.abc import Iterator
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import call_here, more_of, plain
from mash_plugin.cli.tables import lines_of, print_table, short_ids, when
from mash_plugin.render.context import record_labels
from mash_plugin.render.text import clean, local_date
from mash_plugin.wording import counted

PAGE = 50
STATUS_WORDS = {
    "candidate": "unconfirmed",
    "stale_evidence": "its source has changed",
    "inactive": "out of force",
}
AUTHOR_WORDS = {
    "person": "the person",
    "inferred": "the person, by the marks of an older client",
    "agent": "the agent",
    "automated": "a program",
    "unknown": "nobody known",
}
FRESHNESS_WORDS = {
    "matching": "still stands there",
    "unindexed": "its chat is not indexed",
    "changed": "its message has changed",
    "missing": "its message is gone",
    "role_changed": "its message has another author now",
    "role_unknown": "its author is not known",
}
Json = dict[str, Any]


@click.command()
@click.argument("text", nargs=-1)
@click.option("--here", is_flag=True, help="Only records of the project in this folder.")
@click.option("--all", "show_all", is_flag=True, help="Also unconfirmed and retired records.")
@click.option("--limit", type=click.IntRange(1), default=20, help="Records on one page.")
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


@click.command()
@click.argument("record_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def record(record_id: str, as_json: bool) -> None:
    """Show everything of one record: evidence, history, confirmations and links.

    The first eight or more characters of its ID are enough.
    """
    whole = _whole(plain(record_id))
    if as_json:
        click.echo(orjson.dumps(whole).decode())
        return
    rows = [*record_rows(whole["record"])]
    above: Json = {"evidence": []}
    for revision in whole["revisions"]:
        session = whole["sessions"].get(str(revision["revision"]))
        rows += _revision_rows(revision, session, above)
        above = revision
    rows += [_link_row(link) for link in whole["links"]]
    print_table(rows)


def record_rows(one: Json) -> list[tuple[str, str]]:
    """What a record says and how it stands, as rows of a field and its value."""
    if "statement" not in one:
        told = "(of a project that is left out, or damaged: its text is not shown)"
        return [("Record", clean(one["id"])), ("Says", told)]
    rows = [
        ("Record", clean(one["id"])),
        ("Says", clean(one["statement"])),
        ("Standing", _standing(one)),
        ("Holds in", _place(one["scope"])),
        ("Recorded", f"{local_date(one['recorded_at'])} by {clean(one['recorded_by'])}"),
    ]
    lists = ("alternatives", "consequences", "conditions")
    rows += [(name.capitalize(), lines_of(*one[name])) for name in lists if one.get(name)]
    for name, label in (("effective_at", "Holds from"), ("valid_until", "Holds until")):
        if name in one:
            rows.append((label, local_date(one[name])))
    if "reported_by" in one:
        rows.append(("Reported by", clean(one["reported_by"])))
    if one["confirmations"]:
        rows.append(("Confirmed", f"{one['confirmations']} times"))
    return rows


def kind_words(one: Json) -> str:
    """The kind of a record with its labels: `decision (unconfirmed)`."""
    labels = record_labels(one)
    if one["status"] not in ("current", "candidate"):
        labels.append(STATUS_WORDS[one["status"]])
    if one.get("conflicted"):
        labels.append("contradicted")
    if one.get("owner"):
        labels.append("another owner's")
    return clean(f"{one['kind']} ({', '.join(labels)})" if labels else one["kind"])


def state_words(body: Json) -> str:
    """The standing of one wording: `established, accepted, decided by the agent`."""
    words = [body["review"] if body["review"] == "established" else "unconfirmed", body["state"]]
    if body.get("decided_by"):
        words.append(f"decided by the {body['decided_by']}")
    if body.get("owner"):
        words.append("imported from another owner")
    return ", ".join(words)


def _every(here: bool, show_all: bool) -> Iterator[Json]:
    offset: int | None = 0
    while offset is not None:
        request = {"limit": PAGE, "offset": offset, "include_inactive": show_all}
        result = call_here("list_records", request, here)
        yield from result["records"]
        offset = result["next_offset"]


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
    return lines_of(one["statement"], f"{kind_words(one)}, {_place(one['scope'])}")


def _place(scope: Json) -> str:
    place = scope.get("identity") or scope.get("path") or scope.get("id") or scope["kind"]
    return clean(str(place))


def _standing(one: Json) -> str:
    now = STATUS_WORDS.get(one["status"], "in force")
    words = [one["kind"], state_words(one)]
    if one["status"] != "candidate":
        words.append(now)
    if one.get("conflicted"):
        words.append("contradicted by another record (see its links)")
    return ", ".join(words)


def _whole(start: str) -> Json:
    """Every page of a record as one."""
    whole = _page(id=start)
    record_id = whole["record"]["id"]
    before = whole.pop("next_before_revision")
    while before is not None:
        page = _page(id=record_id, before_revision=before)
        whole["revisions"] += page["revisions"]
        before = page["next_before_revision"]
    offset = whole.pop("next_link_offset")
    while offset is not None:
        page = _page(id=record_id, link_offset=offset)
        whole["links"] += page["links"]
        offset = page["next_link_offset"]
    return whole


def _page(**request: object) -> Json:
    from mash_plugin import client

    return client.call("terminal_show", request)


def _revision_rows(revision: Json, session: str | None, above: Json) -> Iterator[tuple[str, str]]:
    """One revision; evidence that the one above it has too stands there alone."""
    body = revision["body"]
    by = revision.get("origin") or (f"by session {session}" if session else "by an agent")
    yield (
        f"Revision {revision['revision']}",
        lines_of(
            f"{local_date(revision['recorded_at'])}, {by}",
            state_words({"review": body["review"], **body["details"]}),
            body["statement"],
        ),
    )
    is_same = revision["evidence"] == above["evidence"]
    if revision["evidence"] and is_same:
        yield "  evidence", f"as for revision {above['revision']}"
    for evidence in [] if is_same else revision["evidence"]:
        added = "  confirmed by" if evidence["added_by"] == "confirmation" else "  evidence"
        author = AUTHOR_WORDS.get(evidence["author"], evidence["author"])
        yield (
            added,
            lines_of(
                f"“{evidence['quote']}”",
                f"said by {author} ({evidence['role']}), as {evidence['purpose']};"
                f" {FRESHNESS_WORDS.get(evidence['status'], evidence['status'])}",
                f"{evidence['chat_id']}, message {evidence['message_id']}",
            ),
        )
    for confirmed in revision["confirmation_history"]:
        told = f"{local_date(confirmed['confirmed_at'])}, message {confirmed['message_id']}"
        yield "  confirmation", clean(told)


def _link_row(link: Json) -> tuple[str, str]:
    relation = link["relation"]
    if link["direction"] == "incoming":
        relation = {"supports": "supported by", "contradicts": "contradicted by"}.get(
            relation, "superseded by"
        )
    in_force = "both in force" if link["active"] else "not both in force"
    return (
        relation.capitalize(),
        lines_of(
            link["statement"],
            f"{link['id']}, {in_force}, linked {local_date(link['recorded_at'])}",
        ),
    )
