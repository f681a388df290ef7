"""When each hook of each agent was last seen: true in memory, then written behind."""

import threading
from collections.abc import Iterable

from mash_plugin.store import queries
from mash_plugin.store.sqlite import Connection, Database, Params

MOST_HOOKS = 64
"""Names come from whoever calls: more of them than there are hooks are not noted."""

_sql = queries.load("sessions")

Hook = tuple[str, str]
"""(agent, name of the hook)"""


class Heartbeats:
    """Owns the times of this daemon; every method is safe from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._seen_at: dict[Hook, int] = {}
        self._unsaved: set[Hook] = set()

    def note(self, agent: str, hook: str, now: int) -> None:
        """A hook ran."""
        with self._lock:
            if len(self._seen_at) < MOST_HOOKS or (agent, hook) in self._seen_at:
                self._seen_at[agent, hook] = now
                self._unsaved.add((agent, hook))

    def all(self) -> list[dict[str, object]]:
        """All that are known, also those of earlier daemons, for status and doctor."""
        with self._database.reading() as db:
            rows = db.all(_sql.list_heartbeats)
        seen = {(str(agent), str(hook)): at for agent, hook, at in rows}
        with self._lock:
            seen.update(self._seen_at)
        return [{"agent": a, "hook": h, "seen_at": at} for (a, h), at in sorted(seen.items())]

    def take(self) -> set[Hook]:
        """Those whose times are to be written now; whoever cannot must put them back."""
        with self._lock:
            taken, self._unsaved = self._unsaved, set()
            return taken

    def put_back(self, taken: Iterable[Hook]) -> None:
        """Let these be written later."""
        with self._lock:
            self._unsaved.update(taken)

    def write(self, db: Connection, taken: Iterable[Hook]) -> None:
        """Write their times, in the transaction of the caller."""
        with self._lock:
            rows: list[Params] = [
                {"agent": agent, "hook": hook, "seen_at": self._seen_at[agent, hook]}
                for agent, hook in taken
            ]
        db.run_many(_sql.put_heartbeat, rows)
