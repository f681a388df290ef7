"""The verbs over an open SQLite file, and how long a request may wait for what they find."""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

QUERY_S = 2.0
"""How long a request may wait for the next row of a query; see `limited`."""
STEPS = 1_000_000
"""Instructions of SQLite between two looks at the clock: some hundredths of a second."""

Row = tuple[Any, ...]
Params = Mapping[str, Any]
_this_thread = threading.local()


@contextmanager
def limited() -> Iterator[None]:
    """Within, this thread's queries are broken off after QUERY_S, so that none wedges the daemon.

    They raise StoreBusy. What takes its time by nature (an export, a backup) runs without.
    """
    before = getattr(_this_thread, "is_limited", False)
    _this_thread.is_limited = True
    try:
        yield
    finally:
        _this_thread.is_limited = before


class Connection:
    """The verbs of the store over one apsw connection."""

    def __init__(self, raw: apsw.Connection) -> None:
        self.raw = raw
        # Nothing that leads back here: a connection that is let go of is closed at once.
        self._clock = _Clock()
        raw.set_progress_handler(self._clock.is_late, STEPS)

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        """The first row, or None."""
        self._clock.start()
        return next(iter(self.raw.execute(sql, params or {})), None)

    def all(self, sql: str, params: Params | None = None) -> list[Row]:
        """Every row."""
        self._clock.start()
        return list(self.raw.execute(sql, params or {}))

    def each(self, sql: str, params: Params | None = None) -> Iterator[Row]:
        """Every row, fetched as it is asked for."""
        self._clock.start()
        for row in self.raw.execute(sql, params or {}):
            yield row
            self._clock.start()

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute to the end; the number of rows changed."""
        self._clock.start()
        before = self.raw.total_changes()
        # A cursor that is not drained stops at the first row-returning statement (apsw).
        list(self.raw.execute(sql, params or {}))
        return self.raw.total_changes() - before

    def run_many(self, sql: str, rows: list[Params]) -> None:
        """Execute once for each row of parameters."""
        self._clock.start()
        self.raw.executemany(sql, rows)


class _Clock:
    """How long a query has waited for its next row."""

    def __init__(self) -> None:
        self._until = math.inf

    def start(self) -> None:
        self._until = time.monotonic() + QUERY_S

    def is_late(self) -> bool:
        return getattr(_this_thread, "is_limited", False) and time.monotonic() > self._until
