"""Filters live in the address: what an address asks for, and where each choice leads."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mash_plugin.dashboard import labels
from mash_plugin.dashboard.rendering import number_of, query_of
from mash_plugin.errors import InvalidArgument

MARKS = {"conflicted": "Contradicted", "stale": "Evidence changed"}
NAMES = ("kind", "state", "review", "by", "scope", "conflicted", "stale", "q")
SCOPES_SHOWN = 8
MOST_TEXT = 500
Json = dict[str, Any]


class Choice(NamedTuple):
    """One link of a filter."""

    label: str
    records: int
    href: str
    is_on: bool
    title: str = ""


class Facet(NamedTuple):
    """One filter with its choices; the rarer ones are folded away."""

    name: str
    choices: list[Choice]
    more: list[Choice]


def request_of(query: Mapping[str, str], limit: int) -> Json:
    """What an address asks of `view_records`. Raises InvalidArgument for a cursor of no page."""
    request: Json = {"limit": limit}
    for name, field in (("kind", "kind"), ("state", "state"), ("review", "review")):
        if query.get(name):
            request[field] = query[name]
    if query.get("by"):
        request["decided_by"] = query["by"]
    if query.get("scope"):
        request["scope"] = labels.scope_of_key(query["scope"])
    for name in MARKS:
        request[name] = query.get(name) == "1"
    if text := text_of(query):
        request["text"] = text
    if query.get("after"):
        at, _, record_id = query["after"].partition(".")
        moment = number_of(at)
        if moment is None:
            raise InvalidArgument("This address names no page; go back to the first one.")
        request["after"] = {"at": moment, "id": record_id}
    return request


def cursor_of(following: Mapping[str, Any] | None) -> str | None:
    """How an address names the place where the next page begins; `request_of` reads it."""
    return f"{following['at']}.{following['id']}" if following else None


def kept(query: Mapping[str, str]) -> dict[str, str | None]:
    """The filters of an address, without its place in the pages."""
    return {name: query.get(name) for name in NAMES} | {"q": text_of(query)}


def text_of(query: Mapping[str, str]) -> str:
    """The words that an address searches, no more of them than its field takes."""
    return query.get("q", "").strip()[:MOST_TEXT]


def facets(query: Mapping[str, str], counts: Json, path: str) -> Iterator[Facet]:
    """Every filter that has something to choose."""
    tables = (
        ("Kind", "kind", labels.PLURALS, counts["kind"]),
        ("Review", "review", labels.REVIEWS, counts["review"]),
        ("State", "state", labels.STATES, counts["state"]),
        ("Decisions by", "by", {"person": "A person", "agent": "An agent"}, counts["decided_by"]),
    )
    for title, name, words, found in tables:
        chosen = [
            _choice(query, name, value, label, found.get(value, 0), path)
            for value, label in words.items()
            if found.get(value) or query.get(name) == value
        ]
        if chosen:
            yield Facet(title, chosen, [])
    attention = [
        _choice(query, name, "1", label, counts[name], path)
        for name, label in MARKS.items()
        if counts[name] or query.get(name) == "1"
    ]
    if attention:
        yield Facet("Needs a look", attention, [])
    scopes = list(_scopes(query, counts["scopes"], path))
    if scopes:
        scopes.sort(key=lambda choice: not choice.is_on)
        yield Facet("Project", scopes[:SCOPES_SHOWN], scopes[SCOPES_SHOWN:])


def active(query: Mapping[str, str], path: str) -> list[tuple[str, str]]:
    """(label, address without it) of every filter that is on."""
    words = {"kind": labels.PLURALS, "state": labels.STATES, "review": labels.REVIEWS}
    found = []
    for name, value in kept(query).items():
        if not value or (name in MARKS and value != "1"):
            continue
        label = words.get(name, {}).get(value, value)
        if name == "q":
            label = f"“{value}”"
        elif name == "by":
            label = labels.DECIDERS.get(value, value)
        elif name == "scope":
            label = labels.scope_name(labels.scope_of_key(value))
        elif name in MARKS:
            label = MARKS[name]
        found.append((label, path + query_of({**kept(query), name: None})))
    return found


def _scopes(query: Mapping[str, str], found: list[Json], path: str) -> Iterator[Choice]:
    for one in found:
        scope, key = one["scope"], labels.scope_key(one["scope"])
        name = labels.scope_name(scope)
        choice = _choice(query, "scope", key, labels.short_name(name), one["count"], path)
        yield choice._replace(title=name)


def _choice(
    query: Mapping[str, str], name: str, value: str, label: str, count: int, path: str
) -> Choice:
    is_on = query.get(name) == value
    href = path + query_of({**kept(query), name: None if is_on else value})
    return Choice(label, count, href, is_on)
