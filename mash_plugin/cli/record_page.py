"""`mash record`: everything of one record, for people."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click
import orjson

from mash_plugin.cli.asking import plain
from mash_plugin.cli.record_words import place, standing, state_words
from mash_plugin.cli.tables import lines_of, print_table
from mash_plugin.errors import NotFound
from mash_plugin.render.rewording import rewording
from mash_plugin.render.text import clean, local_date

AUTHOR_WORDS = {
    "person": "the person",
    "inferred": "the person, by the marks of an older client",
    "agent": "the agent",
    "automated": "a program",
    "unknown": "nobody known",
}
FRESHNESS_WORDS = {
    "matching": "still stands there",
    "kept": "kept as it was read; its transcript is gone",
    "unindexed": "its chat is not indexed",
    "changed": "its message has changed",
    "missing": "its message is gone",
    "role_changed": "its message has another author now",
    "role_unknown": "its author is not known",
}
MINE = "the person"
Json = dict[str, Any]


@click.command()
@click.argument("record_id", metavar="ID")
@click.option("--node", metavar="ID", help="The copy that this node has published to your group.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def record(record_id: str, node: str | None, as_json: bool) -> None:
    """Show everything of one record: evidence, history, confirmations and links.

    The first eight or more characters of its ID are enough; with --node all of it is needed.
    """
    if node is None:
        whole = _whole(plain(record_id), _page)
    else:
        whole = _whole(plain(record_id), partial(_copy_page, plain(node)))
    if as_json:
        click.echo(orjson.dumps(whole).decode())
        return
    rows = [*record_rows(whole["record"])]
    above: Json = {"evidence": []}
    for revision in whole["revisions"]:
        session = whole.get("sessions", {}).get(str(revision["revision"]))
        rows += revision_rows(revision, session, above, person_of(whole["record"]))
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
        *([("Published by", _owner(one))] if "node_id" in one else []),
        ("Standing", standing(one)),
        ("Holds in", place(one["scope"])),
        *_recorded(one),
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


def _recorded(one: Json) -> list[tuple[str, str]]:
    """When it came to be as it is, and whose wording it has: those may be of two revisions."""
    at, by = local_date(one["recorded_at"]), clean(one["recorded_by"])
    if one["revision"] == 1:
        return [("Recorded", f"{at} by {by}")]
    return [("Changed", f"{at}, revision {one['revision']}"), ("Worded by", by)]


def _owner(one: Json) -> str:
    """Whose word a published copy is, so that it is not taken for the person's own."""
    own = "" if "label" in one else "\nyour own"
    return lines_of(f"{one['owner']}, node {one['node_id']}") + own


def person_of(one: Json) -> str:
    """Who is meant by "the person" in what a record rests on."""
    if "label" in one:
        return clean(one["owner"])
    return "its owner" if one.get("owner") and "node_id" not in one else MINE


def _whole(start: str, page_of: Callable[..., Json]) -> Json:
    """Every page of a record as one."""
    whole = page_of(id=start)
    record_id = whole["record"]["id"]
    before = whole.pop("next_before_revision")
    while before is not None:
        page = page_of(id=record_id, before_revision=before)
        whole["revisions"] += page["revisions"]
        before = page["next_before_revision"]
    offset = whole.pop("next_link_offset")
    while offset is not None:
        page = page_of(id=record_id, link_offset=offset)
        whole["links"] += page["links"]
        offset = page["next_link_offset"]
    return whole


def _page(**request: object) -> Json:
    from mash_plugin import client

    return client.call("terminal_show", request)


def _copy_page(node_id: str, **request: object) -> Json:
    from mash_plugin import client

    asked = {"node_id": node_id, "history": True, **request}
    try:
        return client.call("get_record", asked)
    except NotFound:
        raise click.ClickException(
            f"Node {node_id!r} has published no record {request['id']!r} to your group. Both IDs"
            " are needed whole, as `mash records --shared` shows them; or its owner removed it."
        ) from None


def revision_rows(
    revision: Json, session: str | None, above: Json, person: str
) -> Iterator[tuple[str, str]]:
    """One revision; evidence that the one above it has too stands there alone."""
    body = revision["body"]
    by = revision.get("origin") or (f"by session {session}" if session else "by an agent")
    by = by.replace("the person", person)
    yield (
        f"Revision {revision['revision']}",
        lines_of(
            f"{local_date(revision['recorded_at'])}, {by}",
            state_words({"review": body["review"], **body["details"]}),
            body["statement"],
        ),
    )
    if told := rewording(revision, "you" if person == MINE else person):
        yield "  wording", clean(told)
    is_same = revision["evidence"] == above["evidence"]
    if revision["evidence"] and is_same:
        yield "  evidence", f"as for revision {above['revision']}"
    is_cited = any(one["added_by"] == "revision" for one in revision["evidence"])
    if "origin" in revision and not is_cited:
        yield "  evidence", "none but that: the quotes of earlier wordings have changed"
    for evidence in [] if is_same else revision["evidence"]:
        yield _evidence_row(evidence, person)
    for confirmed in revision["confirmation_history"]:
        told = f"{local_date(confirmed['confirmed_at'])}, message {confirmed['message_id']}"
        yield "  confirmation", clean(told)


def _evidence_row(evidence: Json, person: str) -> tuple[str, str]:
    author = str(AUTHOR_WORDS.get(evidence["author"], evidence["author"]))
    is_kept = evidence["status"] == "matching" and evidence.get("transcript_gone")
    status = "kept" if is_kept else evidence["status"]
    return (
        "  confirmed by" if evidence["added_by"] == "confirmation" else "  evidence",
        lines_of(
            f"“{evidence['quote']}”",
            f"said by {author.replace('the person', person)} ({evidence['role']}),"
            f" as {evidence['purpose']};"
            f" {FRESHNESS_WORDS.get(status, status)}",
            f"{evidence['chat_id']}, message {evidence['message_id']}",
        ),
    )


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
