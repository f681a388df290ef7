"""The list of records under its filters, and everything about one record."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from mash_plugin.dashboard import differences, filters
from mash_plugin.dashboard.chat_pages import message_link
from mash_plugin.dashboard.graph import draw
from mash_plugin.dashboard.labels import RETIRED
from mash_plugin.dashboard.place import Place
from mash_plugin.dashboard.rendering import number_of, page_links, render

PAGE = 50
WITHDRAWN = {"decision": "withdrawn", "preference": "withdrawn", "fact": "retracted"}
Json = dict[str, Any]


class Step(NamedTuple):
    """A revision with what it changed of the one before, where that one is known."""

    revision: Json
    pieces: list[differences.Piece]
    fields: list[differences.Changed]


class Hand(NamedTuple):
    """Something that can be done about a record, elsewhere."""

    title: str
    text: str


def memory(place: Place, query: Mapping[str, str], _path: Mapping[str, Any]) -> str:
    """A page of records, the newest first."""
    found = place.ask("view_records", filters.request_of(query, PAGE))
    path = place.at("/memory")
    query = place.echoed(query)
    start = (number_of(query.get("n")) or 0) if query.get("after") else 0
    kept, after = filters.kept(query), filters.cursor_of(found["next"])
    onward = {"after": after, "n": str(start + PAGE)} if after else None
    return render(
        "memory.html",
        place,
        nav="memory",
        records=found["records"],
        total=found["total"],
        first=start + 1,
        last=start + len(found["records"]),
        **page_links(path, kept, onward, is_first=not query.get("after")),
        facets=list(filters.facets(query, found["counts"], path)),
        active=filters.active(query, path),
        kept={n: v for n, v in kept.items() if v and n != "q"},
        text=filters.text_of(query),
    )


def record(place: Place, query: Mapping[str, str], path: Mapping[str, Any]) -> str:
    """One record: what it says, on what it rests, how it came about, what it is linked to."""
    request: Json = {"id": path["record_id"]}
    if (before := number_of(query.get("before"))) is not None:
        request["before_revision"] = before
    shown = place.ask("terminal_show", request)
    one = shown["record"]
    newest = shown["revisions"][0] if shown["revisions"] else None
    return render(
        "record.html",
        place,
        nav="memory",
        record=one,
        current=newest if newest and newest["revision"] == one["revision"] else None,
        steps=steps_of(shown["revisions"]),
        sessions=shown["sessions"],
        shown_to=place.ask("view_sessions", {"record": one["id"], "limit": 1}),
        older=shown["next_before_revision"],
        is_paged="before_revision" in request,
        drawing=draw(place.ask("view_graph", {"id": one["id"]}), one["id"]),
        commands=_commands(one),
        link=message_link,
        calls=_calls(one, newest["body"] if newest else {}),
    )


def steps_of(revisions: list[Json]) -> list[Step]:
    """The newest first; of the oldest on a page nothing is known that was before it."""
    steps = []
    for new, old in pairwise([*revisions, None]):
        assert new is not None  # noqa: S101 - only the last one of the pairs is None
        if old is None:
            steps.append(Step(new, [], []))
            continue
        before, after = old["body"], new["body"]
        found = differences.pieces(before["statement"], after["statement"])
        steps.append(Step(new, found, list(differences.fields(before, after))))
    return steps


def _commands(one: Json) -> list[Hand]:
    record_id = one["id"]
    found = [Hand("Correct the wording", f"mash edit {record_id}")]
    if one["review"] == "candidate" and one["state"] not in RETIRED:
        found.append(Hand("Make it settled", f"mash establish {record_id}"))
    elif one["status"] == "stale_evidence":
        found.append(Hand("Bring it back into force", f"mash establish {record_id}"))
    if one["state"] not in RETIRED:
        found.append(Hand("Withdraw it", f"mash withdraw {record_id}"))
    found.append(Hand("Forget it for good", f"mash forget-record {record_id}"))
    return found


def _calls(one: Json, body: Json) -> list[Hand]:
    """What an agent would send; the words of the person are for it to find."""
    said = {"session_id": "SESSION", "quote": "THE PERSON'S WORDS", "purpose": "endorsement"}
    expected = {"id": one["id"], "revision": one["revision"]}

    def call(title: str, **change: Any) -> Hand:  # noqa: ANN401 - JSON
        request = {
            "operation_id": "A NEW ONE",
            "change": {**change, "expected": expected, "evidence": [said]},
        }
        return Hand(title, orjson.dumps(request, option=orjson.OPT_INDENT_2).decode())

    found = []
    if body:
        corrected = {**body, "statement": "THE CORRECTED STATEMENT"}
        found.append(call("Correct it", action="revise", body=corrected))
        if one["state"] not in RETIRED:
            state = {**body["details"], "state": WITHDRAWN[one["kind"]]}
            found.append(call("Withdraw it", action="revise", body={**body, "details": state}))
    return [*found, call("Forget it", action="forget")]
