"""How many bytes each hook put into the context of each session: counted, then written behind."""

import threading
from collections.abc import Mapping
from typing import NamedTuple

from mash_plugin.store import queries
from mash_plugin.store.sqlite import Connection, Database, Params

_sql = queries.load("ledger")

MOST_UNSAVED = 10_000
"""Where nothing can be written for long, later sessions are not counted."""
Key = tuple[str, str]
"""(session, hook)"""


class Injected(NamedTuple):
    """What one hook put into one session."""

    times: int
    bytes: int


class Ledger:
    """Adds up in memory what is not yet in the store; adding is dictionary work alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._unsaved: dict[Key, Injected] = {}

    def add(self, session_id: str, hook: str, size: int) -> None:
        """Note that this hook put so many bytes into the context of this session."""
        with self._lock:
            times, before = self._unsaved.get((session_id, hook), (0, 0))
            self._unsaved[session_id, hook] = Injected(times + 1, before + size)

    def take_back(self, session_id: str, hook: str, size: int) -> None:
        """Count no more what never arrived."""
        key = (session_id, hook)
        with self._lock:
            left = _sum(self._unsaved.pop(key, None), Injected(-1, -size))
            if any(left):
                self._unsaved[key] = left

    def of(self, session_id: str) -> dict[str, Injected]:
        """What each hook put into this session, by hook."""
        with self._database.reading() as db:
            found = injected_into(db, session_id)
        with self._lock:
            for (session, hook), more in self._unsaved.items():
                if session == session_id:
                    found[hook] = _sum(found.get(hook), more)
        return {hook: sums for hook, sums in sorted(found.items()) if sums.times}

    def forget(self, session_id: str) -> None:
        """Drop what is not yet written of a session."""
        with self._lock:
            for key in [key for key in self._unsaved if key[0] == session_id]:
                del self._unsaved[key]

    def take(self) -> dict[Key, Injected]:
        """What is to be written now; whoever cannot must put it back."""
        with self._lock:
            taken, self._unsaved = self._unsaved, {}
            return taken

    def put_back(self, taken: Mapping[Key, Injected]) -> None:
        """Count again what could not be written."""
        with self._lock:
            for key, injected in taken.items():
                if len(self._unsaved) < MOST_UNSAVED or key in self._unsaved:
                    self._unsaved[key] = _sum(self._unsaved.get(key), injected)

    @staticmethod
    def write(db: Connection, taken: Mapping[Key, Injected]) -> None:
        """Write it, in the transaction of its caller, after the sessions."""
        rows: list[Params] = [
            {"session_id": session, "hook": hook, "times": times, "bytes": size}
            for (session, hook), (times, size) in taken.items()
        ]
        db.run_many(_sql.add_injected, rows)


def injected_into(db: Connection, session_id: str) -> dict[str, Injected]:
    """What each hook put into this session, by hook, as far as it is written."""
    rows = db.all(_sql.list_injected, {"session_id": session_id})
    return {str(hook): Injected(times, size) for hook, times, size in rows}


def _sum(one: Injected | None, other: Injected) -> Injected:
    return Injected(one.times + other.times, one.bytes + other.bytes) if one else other
