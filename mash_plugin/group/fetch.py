"""Read from the group's server what others established, in a form that recall can rank."""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from mash_plugin.config import Settings
from mash_plugin.group.cache import MOST_BYTES, MOST_RECORDS
from mash_plugin.group.deadline import within
from mash_plugin.group.items import revision_of
from mash_plugin.group.session import SQL_FOLDER, open_group
from mash_plugin.memory.group_copy import GroupRecord
from mash_plugin.records.ranking import standing
from mash_plugin.records.suspicion import reads_like_instruction
from mash_plugin.store.queries import load
from mash_plugin.tokens import words

_SQL = load("copies", SQL_FOLDER)
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
LIMIT_S = 10.0
"""For all repositories of one pass; what hangs beyond every time limit of the driver ends here."""
WHOLE_EVERY_MS = 3_600_000
MOST_FETCHED = 4 * MOST_BYTES
"""Of one repository; what is kept of it is the best of that."""
Row = tuple[Any, ...]


class Fetched(NamedTuple):
    """What the server holds of one repository."""

    identity: str
    state: str
    records: list[GroupRecord] | None
    """The best first; None where nothing was published since the state that is known."""


def fetch(
    settings: Settings, environ: Mapping[str, str], known: Mapping[str, str | None], now: int
) -> list[Fetched]:
    """What each repository has, unless its state is known. Raises what `open_group` raises."""

    def work() -> list[Fetched]:
        with closing(open_group(settings, environ, to_write=False)) as db:
            row = db.one(_SQL.state, {})
            # With the hour, so that what only time has changed is seen before long.
            state = f"{row[0] if row else ''} {now // WHOLE_EVERY_MS}"
            wanted = [identity for identity, its_state in known.items() if its_state != state]
            key = {"now": now, "count": MOST_RECORDS, "bytes": MOST_FETCHED}
            rows = {i: db.all(_SQL.established_of_others, {**key, "identity": i}) for i in wanted}
        return [Fetched(i, state, in_order(rows[i], now) if i in rows else None) for i in known]

    return within(LIMIT_S, work)


def in_order(rows: Iterable[Row], now: int) -> list[GroupRecord]:
    """The records of these rows, the best first; a row that no record of ours can be is none."""
    found = [record for row in rows if (record := _record(row, now)) is not None]
    return sorted(found, key=lambda record: standing(record.ranked, now))


def _record(row: Row, now: int) -> GroupRecord | None:
    record_id, node_id, owner, kind, recorded_at, confirmations, strong, weak, *wording = row
    revision = revision_of(kind, wording, ())
    if revision is None or not all(map(_ID.fullmatch, (record_id, node_id, owner))):
        return None
    body = revision.body
    if body.review != "established" or body.is_retired:
        return None
    return GroupRecord(
        id=record_id,
        node_id=node_id,
        owner=owner,
        kind=kind,
        revision=revision.revision,
        state=body.state,
        statement=body.statement,
        recorded_by=body.recorded_by,
        recorded_at=min(recorded_at, now),  # a clock that is ahead brings nothing forward
        confirmations=confirmations,
        decided_by=body.decided_by,
        effective_at=body.effective_at,
        valid_until=body.valid_until,
        reported_by=body.reported_by,
        alternatives=body.alternatives,
        consequences=body.consequences,
        conditions=body.conditions,
        is_suspicious=reads_like_instruction(body),
        statement_tokens=" ".join(dict.fromkeys(words(body.statement))),
        strong_tokens=strong,
        weak_tokens=weak,
    )
