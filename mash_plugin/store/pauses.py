"""Where a person wants hooks to be silent, and until when: read once, then true in memory."""

import threading

from mash_plugin.errors import MashError
from mash_plugin.store import queries
from mash_plugin.store.sqlite import Connection, Database

FOR_EVER = 2**62
"""Until the person ends it."""

_sql = queries.load("pauses")


class Pauses:
    """Sessions (`session:ID`) and projects (`project:` and identity or path) that are paused."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known: dict[str, int] | None = None

    def until(self, targets: tuple[str, ...], now: int) -> int | None:
        """Until when one of these targets is paused, None when none is; for every hook."""
        known = self._read()
        if not known:
            return None
        ends = [end for target in targets if (end := known.get(target, 0)) > now]
        return max(ends, default=None)

    def all(self, now: int) -> dict[str, int]:
        """Every target that is paused now, with the time when that ends."""
        return {target: end for target, end in sorted(self._read().items()) if end > now}

    def put(self, target: str, session_id: str | None, until: int, now: int) -> None:
        """Pause a target; every hook that is answered from now on knows it."""
        row = {"target": target, "session_id": session_id, "until": until}
        with self._lock:
            with self._database.writing() as db:
                db.run(_sql.delete_old_pauses, {"now": now})
                db.run(_sql.put_pause, row)
                known = read_pauses(db)
            self._known = known

    def end(self, target: str) -> None:
        """End the pause of a target."""
        with self._lock:
            with self._database.writing() as db:
                db.run(_sql.delete_pause, {"target": target})
                known = read_pauses(db)
            self._known = known

    def read_again(self) -> None:
        """What is known may have changed."""
        with self._lock:
            self._known = None

    def _read(self) -> dict[str, int]:
        known = self._known
        if known is not None:
            return known
        with self._lock:
            try:
                with self._database.reading() as db:
                    self._known = known = read_pauses(db)
            except MashError:
                return {}  # a broken store must not cost the hook its answer; asked again then
        return known


def read_pauses(db: Connection) -> dict[str, int]:
    """Every target that was paused, with the time when that ends or ended."""
    return {str(target): int(end) for target, end in db.all(_sql.list_pauses)}
