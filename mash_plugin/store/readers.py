"""The reading connections of a database: one for each thread."""

import threading
from collections.abc import Callable

import apsw

from mash_plugin.store.connection import Connection


class Readers:
    """Owns the connections that read; `connect` makes one more."""

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, apsw.Connection]] = []
        self._lock = threading.Lock()

    def has_own(self) -> bool:
        """Whether this thread has read before."""
        return hasattr(self._local, "connection")

    def own(self) -> Connection:
        """The connection of this thread."""
        if not self.has_own():
            raw = self._connect()
            self._local.connection = Connection(raw)
            with self._lock:
                self._close_those_of_ended_threads()
                self._open.append((threading.current_thread(), raw))
        connection: Connection = self._local.connection
        return connection

    def take(self) -> list[apsw.Connection]:
        """All that are open, for the caller to close."""
        taken, self._open = self._open, []
        return [raw for _, raw in taken]

    def _close_those_of_ended_threads(self) -> None:
        """Threads come and go with the hooks; each would leave its open files behind."""
        for thread, raw in self._open.copy():
            if not thread.is_alive():
                self._open.remove((thread, raw))
                raw.close()
