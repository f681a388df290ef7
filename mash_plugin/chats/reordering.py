"""The best that the index found, and what was said around it, in the order of both."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mash_plugin.chats.ranking import Asked, Exchange, Found, ranked
from mash_plugin.store.chats import SQL, json_rows
from mash_plugin.store.sqlite import Connection, Row

REACH = 40
"""How far from a message its prompt and its answer are looked for."""
_Place = tuple[int, int, int]
"""Of a message: the chat, its generation, the ordinal in it."""


class _Exchanges(NamedTuple):
    """Where the exchanges lie to which some messages belong."""

    of: Mapping[_Place, Exchange]
    ends: Mapping[Exchange, int]
    """The ordinal of the last message of each."""
    on_the_way: frozenset[_Place]
    """Messages that a tool call follows."""


def reordered(db: Connection, rows: list[Row], asked: Asked, looked_around: int) -> list[Row]:
    """These messages with those that stand beside the first of them, the best first."""
    known = _exchanges(db, rows)
    around = _around(rows[:looked_around], known)
    by_seq = {row[0]: row for row in rows}
    new = json_rows(sorted(place for place in around if place not in known.of))
    beside = {row[0]: row for row in db.all(SQL.messages_at, {"places": new})}
    beside = {seq: row for seq, row in beside.items() if seq not in by_seq}
    before = {(chat_no, end + 1): (chat_no, start) for (chat_no, start), end in known.ends.items()}
    found = []
    for row in [*rows, *beside.values()]:
        place = _place(row)
        exchange = known.of.get(place) or around[place]
        found.append(
            Found(
                seq=row[0],
                text=row[2],
                role=row[3],
                author=row[4],
                sent_at=row[5],
                title=row[7],
                exchange=exchange,
                before=before.get(exchange) if exchange[1] == row[11] else None,
                is_beside=row[0] in beside,
                is_last=known.ends.get(exchange) == row[11],
                is_on_the_way=place in known.on_the_way,
            )
        )
    by_seq |= beside
    return [by_seq[seq] for seq, _ in ranked(found, asked)]


def _exchanges(db: Connection, rows: Iterable[Row]) -> _Exchanges:
    keys = {"places": json_rows(map(_place, rows)), "reach": REACH}
    of: dict[_Place, Exchange] = {}
    ends: dict[Exchange, int] = {}
    on_the_way = set()
    for chat_no, generation, ordinal, start, end, is_on_the_way in db.all(SQL.exchanges, keys):
        exchange = (chat_no, -ordinal if start is None else start)
        ends[exchange] = end
        of[chat_no, generation, ordinal] = exchange
        if is_on_the_way:
            on_the_way.add((chat_no, generation, ordinal))
    return _Exchanges(of, ends, frozenset(on_the_way))


def _around(rows: Iterable[Row], known: _Exchanges) -> dict[_Place, Exchange]:
    """Where the prompts and the answers to these messages stand, and what follows the answers."""
    around: dict[_Place, Exchange] = {}
    for row in rows:
        chat_no, generation, ordinal = place = _place(row)
        exchange = known.of[place]
        start, end = exchange[1], known.ends[exchange]
        if start >= 0:
            around[chat_no, generation, start] = exchange
        if end - ordinal < REACH:
            around[chat_no, generation, end] = exchange
            around[chat_no, generation, end + 1] = (chat_no, end + 1)
    return around


def _place(row: Row) -> _Place:
    return row[9], row[10], row[11]
