"""The links of a record as a drawing: the chain of what replaced what, and its neighbours below."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mash_plugin.dashboard import labels
from mash_plugin.render.text import clean, shorten

WIDTH, HEIGHT, GAP, DROP = 232, 104, 84, 64
LINE_CHARS, LINES = 27, 3
IN_A_ROW = 3
Json = Mapping[str, Any]


class Node(NamedTuple):
    """A record in its box."""

    id: str
    x: int
    y: int
    lines: list[str]
    caption: str
    is_middle: bool
    is_retired: bool


class Edge(NamedTuple):
    """An arrow, and where its word stands."""

    path: str
    relation: str
    label: str
    x: int
    y: int
    is_active: bool


class Drawing(NamedTuple):
    """Everything of the picture, and the same in sentences."""

    width: int
    height: int
    nodes: list[Node]
    edges: list[Edge]
    sentences: Sequence[Json]
    box_width: int = WIDTH
    box_height: int = HEIGHT


def draw(graph: Json, middle: str) -> Drawing | None:
    """The drawing around a record; None where nothing is linked."""
    if not graph["links"]:
        return None
    records = {record["id"]: record for record in graph["records"]}
    places = _places(graph, middle)
    nodes = [_node(records[name], places[name], middle) for name in places]
    edges = [_edge(link, places) for link in graph["links"]]
    width = max(x for x, _ in places.values()) + WIDTH + 2
    height = max(y for _, y in places.values()) + HEIGHT + 2
    sentences = [
        {**link, "source": records[link["from"]], "target": records[link["to"]]}
        for link in sorted(graph["links"], key=lambda link: link["recorded_at"])
    ]
    return Drawing(width, height, nodes, edges, sentences)


def _places(graph: Json, middle: str) -> dict[str, tuple[int, int]]:
    """The chain from left to right by age, the others in rows below the record in the middle."""
    chained = {middle}
    for link in graph["links"]:
        if link["relation"] == "supersedes":
            chained |= {link["from"], link["to"]}
    by_age = sorted(graph["records"], key=lambda record: (_begun(record, graph), record["id"]))
    chain = [record["id"] for record in by_age if record["id"] in chained]
    others = [record["id"] for record in by_age if record["id"] not in chained]
    places = {name: (1 + number * (WIDTH + GAP), 1) for number, name in enumerate(chain)}
    first = places[middle][0]
    for number, name in enumerate(others):
        row, column = divmod(number, IN_A_ROW)
        places[name] = (first + column * (WIDTH + GAP), 1 + (row + 1) * (HEIGHT + DROP))
    return places


def _begun(record: Json, graph: Json) -> int:
    """When the record came about: the link by which it replaced another one tells best."""
    made = [
        link["recorded_at"]
        for link in graph["links"]
        if link["relation"] == "supersedes" and link["from"] == record["id"]
    ]
    replaced = [
        link["recorded_at"] - 1
        for link in graph["links"]
        if link["relation"] == "supersedes" and link["to"] == record["id"]
    ]
    return int(min(made or replaced or [record["recorded_at"]]))


def _node(record: Json, place: tuple[int, int], middle: str) -> Node:
    text = clean(record["statement"])
    lines = textwrap.wrap(text, LINE_CHARS) or [text]
    if len(lines) > LINES:
        lines = [*lines[: LINES - 1], shorten(" ".join(lines[LINES - 1 :]), LINE_CHARS)]
    caption = f"{labels.KINDS[record['kind']]}, {labels.STATES[record['state']].lower()}"
    is_retired = record["state"] in labels.RETIRED
    return Node(record["id"], *place, lines, caption, record["id"] == middle, is_retired)


def _edge(link: Json, places: Mapping[str, tuple[int, int]]) -> Edge:
    (x1, y1), (x2, y2) = places[link["from"]], places[link["to"]]
    relation = link["relation"]
    half = HEIGHT // 2
    if y1 == y2:
        start, end = (x1, y1 + half), (x2 + WIDTH, y2 + half)
        if x1 < x2:
            start, end = (x1 + WIDTH, y1 + half), (x2, y2 + half)
    elif y1 < y2:
        start, end = (x1 + WIDTH // 2, y1 + HEIGHT), (x2 + WIDTH // 2, y2)
    else:
        start, end = (x1 + WIDTH // 2, y1), (x2 + WIDTH // 2, y2 + HEIGHT)
    middle_x, middle_y = (start[0] + end[0]) // 2, (start[1] + end[1]) // 2
    if y1 == y2:
        path = f"M{start[0]} {start[1]}L{end[0]} {end[1]}"
    else:
        path = f"M{start[0]} {start[1]}C{start[0]} {middle_y} {end[0]} {middle_y} {end[0]} {end[1]}"
    label = labels.RELATIONS[relation]
    return Edge(path, relation, label, middle_x, middle_y - 6, link["is_active"])
