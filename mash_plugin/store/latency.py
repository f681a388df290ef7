"""How long hooks waited for their answers: counted by column and day, then written behind."""

import threading
from bisect import bisect_left
from collections.abc import Mapping
from typing import NamedTuple

from mash_plugin.store import queries
from mash_plugin.store.sqlite import Connection, Database, Params

LIMITS_MS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Each column holds what took at most so long; one more holds the rest."""
KEPT_DAYS = 30
MOST_HOOKS = 16
"""Names come from whoever calls: more of them than there are hooks are not counted."""
_DAY_MS = 86_400_000
_REST_MS = 0  # how the store names the column of the rest
_LATE_MS = -1  # and that of answers that came when nobody waited any more

_sql = queries.load("sessions")

Key = tuple[int, str, int]
"""(day, hook, limit of the column)"""


class Answers(NamedTuple):
    """How many answers fell into a column on a day, and when the first one did."""

    number: int
    first_at: int


class Told(NamedTuple):
    """The counts of each hook by the limits, and since when they were counted."""

    hooks: dict[str, list[int]]
    since: int | None


def late_answers(db: Connection, now: int) -> dict[str, int]:
    """How many answers of each hook came too late, today and the day before, as far as written."""
    since = {"late": _LATE_MS, "first_day": now // _DAY_MS - 1}
    return {str(hook): number for hook, number in db.all(_sql.late_answers, since)}


class Latency:
    """Adds up in memory what is not yet in the store; adding is dictionary work alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._unsaved: dict[Key, Answers] = {}
        self._hooks: set[str] = set()

    def add(self, hook: str, took_ms: float, now: int) -> None:
        """Count one answer."""
        column = bisect_left(LIMITS_MS, took_ms)
        limit = LIMITS_MS[column] if column < len(LIMITS_MS) else _REST_MS
        self._add(hook, limit, now)

    def add_late(self, hook: str, now: int) -> None:
        """Count an answer that was not waited for, apart from how long it took."""
        self._add(hook, _LATE_MS, now)

    def late(self, now: int) -> dict[str, int]:
        """The same with what is not yet written."""
        with self._database.reading() as db:
            counts = late_answers(db, now)
        with self._lock:
            for (day, hook, limit), answers in self._unsaved.items():
                if limit == _LATE_MS and day >= now // _DAY_MS - 1:
                    counts[hook] = counts.get(hook, 0) + answers.number
        return counts

    def told(self) -> Told:
        """Everything that is kept."""
        with self._lock:
            found = [
                (hook, limit, *more)
                for (_, hook, limit), more in self._unsaved.items()
                if limit != _LATE_MS
            ]
        with self._database.reading() as db:
            found += [
                (str(row[0]), *row[1:]) for row in db.all(_sql.sum_latency, {"late": _LATE_MS})
            ]
        columns = [*LIMITS_MS, _REST_MS]
        hooks = {hook: [0] * len(columns) for hook in sorted({row[0] for row in found})}
        for hook, limit, number, _ in found:
            hooks[hook][columns.index(limit)] += number
        return Told(hooks, min((first_at for *_, first_at in found), default=None))

    def take(self) -> dict[Key, Answers]:
        """What is to be written now; whoever cannot must put it back."""
        with self._lock:
            taken, self._unsaved = self._unsaved, {}
            return taken

    def put_back(self, taken: Mapping[Key, Answers]) -> None:
        """Count again what could not be written."""
        with self._lock:
            for key, answers in taken.items():
                self._count(key, answers)

    @staticmethod
    def write(db: Connection, taken: Mapping[Key, Answers]) -> None:
        """Write it, in the transaction of its caller, and drop what is too old."""
        rows: list[Params] = [
            {"day": day, "hook": hook, "limit_ms": limit, "answers": number, "first_at": first_at}
            for (day, hook, limit), (number, first_at) in taken.items()
        ]
        if rows:
            db.run_many(_sql.add_latency, rows)
            newest = max(day for day, _, _ in taken)
            db.run(_sql.delete_old_latency, {"newest": newest, "kept": KEPT_DAYS})

    def _add(self, hook: str, limit: int, now: int) -> None:
        with self._lock:
            if len(self._hooks) < MOST_HOOKS:
                self._hooks.add(hook)
            if hook in self._hooks:
                self._count((now // _DAY_MS, hook, limit), Answers(1, now))

    def _count(self, key: Key, more: Answers) -> None:
        number, first_at = self._unsaved.get(key, Answers(0, more.first_at))
        self._unsaved[key] = Answers(number + more.number, min(first_at, more.first_at))
