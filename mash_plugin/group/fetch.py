"""Read from the group's server what others established, in a form that recall can rank."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mash_plugin.config import Settings
from mash_plugin.group.cache import MOST_RECORDS
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
    found = [record for row in rows if (record := _record(row, now)) is not None]
    return sorted(found, key=lambda record: standing(record.ranked, now))


def _record(row: Row, now: int) -> GroupRecord | None:
    record_id, node_id, owner, kind, recorded_at, confirmations, strong, weak, *wording = row
    revision = revision_of(kind, wording, ())
    if revision is None or not (_ID.fullmatch(record_id) and _ID.fullmatch(node_id)):
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
