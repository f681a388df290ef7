"""The daemon's connection for shared reads: kept between them, and lent to one at a time."""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mash_plugin.config import Settings
from mash_plugin.errors import SharedUnavailable
from mash_plugin.group.cache import Membership, membership_of
from mash_plugin.group.deadline import within
from mash_plugin.group.session import open_group

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

T = TypeVar("T")
ANSWER_S = 1.8
"""From the question to the answer; a caller is told within two seconds."""
IDLE_S = 60.0
"""A connection that rested longer may be dead on the way, and takes the server's memory."""


class _Lent:
    """A connection in the hands of one reader, who may be given up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_given_up = False

    @property
    def is_given_up(self) -> bool:
        """Whether nobody waits for an answer any more."""
        return self._is_given_up

    def take(self, db: "GroupDatabase") -> None:
        """Begin to use a connection."""
        with self._lock:
            # A descriptor of our own: the other one may be closed, and its number used anew.
            self._socket = socket.socket(fileno=os.dup(db.descriptor))
            if self._is_given_up:
                self._cut()

    def put_back(self) -> None:
        """The reader is done with it."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def give_up(self) -> None:
        """Wake the reader out of a server that says nothing more."""
        with self._lock:
            self._is_given_up = True
            if self._socket is not None:
                self._cut()

    def _cut(self) -> None:
        with suppress(OSError):
            assert self._socket is not None  # noqa: S101 - both callers looked
            self._socket.shutdown(socket.SHUT_RDWR)


class KeptGroup:
    """Owns at most one idle connection; two readers at once have one each."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._idle: tuple[GroupDatabase, Membership | None, float] | None = None
        self._timer: threading.Timer | None = None
        self._is_closed = False

    def ask(self, settings: Settings, work: "Callable[[GroupDatabase], T]") -> T:
        """What the group's server answers, in time or not at all.

        Raises what `open_group` raises, and SharedUnavailable when it takes too long.
        """
        lent = _Lent()
        try:
            return within(ANSWER_S, partial(self._answer, lent, settings, work))
        except SharedUnavailable:
            lent.give_up()
            raise

    def close(self) -> None:
        """Leave the server for good."""
        with self._lock:
            self._is_closed = True
        self._drop_idle()

    def _answer(self, lent: _Lent, settings: Settings, work: "Callable[[GroupDatabase], T]") -> T:
        member_of = membership_of(settings)
        kept = self._take(member_of)
        if kept is not None:
            try:
                return self._worked(lent, kept, member_of, work)
            except SharedUnavailable:
                if lent.is_given_up:
                    raise
        # None was kept, or it broke while it rested: the server may have been restarted.
        db = open_group(settings, self._environ, to_write=False)
        return self._worked(lent, db, member_of, work)

    def _worked(
        self,
        lent: _Lent,
        db: "GroupDatabase",
        member_of: Membership | None,
        work: "Callable[[GroupDatabase], T]",
    ) -> T:
        lent.take(db)
        try:
            return work(db)
        finally:
            lent.put_back()
            if db.is_closed or lent.is_given_up:
                db.close()
            else:
                self._keep(db, member_of)

    def _take(self, member_of: Membership | None) -> "GroupDatabase | None":
        """The idle connection, if it is of this membership and did not rest for long."""
        with self._lock:
            kept, self._idle = self._idle, None
        if kept is None:
            return None
        db, its_membership, since = kept
        if its_membership == member_of and time.monotonic() - since < IDLE_S:
            return db
        db.close()
        return None

    def _keep(self, db: "GroupDatabase", member_of: Membership | None) -> None:
        with self._lock:
            is_wanted = self._idle is None and not self._is_closed
            if is_wanted:
                self._idle = (db, member_of, time.monotonic())
                self._drop_later()
        if not is_wanted:
            db.close()

    def _drop_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(IDLE_S, self._drop_idle)
        self._timer.daemon = True
        self._timer.start()

    def _drop_idle(self) -> None:
        with self._lock:
            kept, self._idle = self._idle, None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if kept is not None:
            kept[0].close()
