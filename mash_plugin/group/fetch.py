"""Read from the group's server what others established, in a form that recall can rank."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from mash_plugin.config import Settings
from mash_plugin.group.cache import MOST_RECORDS
from mash_plugin.group.deadline import within
from mash_plugin.group.session import open_group
from mash_plugin.memory.group_copy import GroupRecord
from mash_plugin.records.model import LIVE_STATES, Body, Kind
from mash_plugin.records.ranking import standing
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.queries import load
from mash_plugin.tokens import words

_SQL = load("copies", os.path.join(os.path.dirname(__file__), "sql"))
LIMIT_S = 10.0
"""For all repositories of one pass; what hangs beyond every time limit of the driver ends here."""
Row = tuple[Any, ...]


def fetch(
    settings: Settings, environ: Mapping[str, str], identities: Iterable[str], now: int
) -> list[tuple[str, list[GroupRecord]]]:
    """The records of each repository, the best first. Raises what `open_group` raises."""
    wanted = list(identities)

    def work() -> list[tuple[str, list[GroupRecord]]]:
        db = open_group(settings, environ, to_write=False)
        try:
            asked = [(i, {"identity": i, "now": now, "count": MOST_RECORDS}) for i in wanted]
            rows = [(i, db.all(_SQL.established_of_others, params)) for i, params in asked]
        finally:
            db.close()
        return [(identity, in_order(found, now)) for identity, found in rows]

    return within(LIMIT_S, work)


def in_order(rows: Iterable[Row], now: int) -> list[GroupRecord]:
    """The records of these rows, the best first; a row that no record of ours can be is none."""
    records = [record for row in rows for record in _record(row, now)]
    return sorted(records, key=lambda record: standing(record.ranked, now))


def _record(row: Row, now: int) -> Iterator[GroupRecord]:
    *head, alternatives, consequences, conditions, strong, weak = row
    kind, state, statement, reported_by = head[3], head[5], head[6], head[13]
    if kind not in get_args(Kind) or state not in LIVE_STATES[kind]:
        return
    texts = [_texts(listed) for listed in (alternatives, consequences, conditions)]
    body = Body(kind, state, statement, "", reported_by=reported_by, alternatives=texts[0])
    body = body._replace(consequences=texts[1], conditions=texts[2])
    head[8] = min(head[8], now)  # a clock that is ahead brings nothing forward
    first_words = " ".join(dict.fromkeys(words(statement)))
    yield GroupRecord._make(
        [*head, *texts, reads_like_instruction(body), first_words, strong, weak]
    )


def _texts(listed: str | None) -> tuple[str, ...]:
    try:
        found = json.loads(listed) if listed else ()
    except (ValueError, RecursionError):
        return ()
    return tuple(text for text in found if isinstance(text, str)) if isinstance(found, list) else ()
