"""Which repositories' copies are wanted, and how a thread of the daemon keeps them fresh.

A hook only notes what it looked for. Whoever loses the right to read loses the copies, too.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from mash_plugin.config import Settings
from mash_plugin.errors import Internal, MashError, SharedAuthFailed
from mash_plugin.group.cache import GroupCache, Kept, Membership, membership_of
from mash_plugin.memory.group_copy import GroupCopy

FRESH_MS = 5 * 60_000
"""A copy that was read less long ago is not fetched again."""
ASKED_MS = 86_400_000
"""A repository that nobody asked for in a day is not kept fresh any more."""
PAUSE_MS, LONGEST_PAUSE_MS = 30_000, 15 * 60_000
MOST_ASKED = 64
IsLeftOut = Callable[[str], bool]


class Problem(NamedTuple):
    """Why the last attempt failed."""

    code: str
    message: str
    at: int


class Copies:
    """Owns the copies on this machine and the list of those that are wanted."""

    def __init__(self, folder: str, on_asked: Callable[[], None]) -> None:
        self.problem: Problem | None = None
        self._cache = GroupCache(folder)
        self._on_asked = on_asked
        self._lock = threading.Lock()
        self._asked: dict[str, int] = {}
        """Repository → when it was last asked for, the longest ago first."""
        self._pause_ms = PAUSE_MS
        self._retry_at = 0

    def under(self, settings: Settings) -> "Looking":
        """The copies as the membership of these settings may see them."""
        return Looking(self, settings)

    def look(self, identity: str, membership: Membership, now: int) -> GroupCopy | None:
        """The copy of a repository, if one was fetched under this membership.

        Notes that somebody looked: it will be fetched and kept fresh.
        """
        with self._lock:
            self._asked.pop(identity, None)
            self._asked[identity] = now
            while len(self._asked) > MOST_ASKED:
                del self._asked[next(iter(self._asked))]
        copy = self._cache.look(identity, membership)
        if now >= self._retry_at and not _is_fresh(copy, now):
            self._on_asked()
        return copy

    def kept(self) -> list[Kept]:
        """What is on this machine, the newest first."""
        return self._cache.kept()

    def clear(self) -> None:
        """Forget everything: the group was left, or is not to be recalled from."""
        with self._lock:
            self._asked.clear()
        self._cache.clear()
        self.problem = None
        self._retry_at, self._pause_ms = 0, PAUSE_MS

    def due(self, membership: Membership, now: int) -> list[str]:
        """The repositories to fetch now."""
        if now < self._retry_at:
            return []
        with self._lock:
            asked = [name for name, at in self._asked.items() if now - at < ASKED_MS]
        found = ((name, self._cache.look(name, membership)) for name in asked)
        return [name for name, copy in found if not _is_fresh(copy, now)]

    def refresh(
        self, settings: Settings, environ: Mapping[str, str], now: int, is_left_out: IsLeftOut
    ) -> None:
        """Fetch what is due, and remove what must not be here any more. Raises MashError."""
        membership = membership_of(settings)
        if membership is None:
            self.clear()
            return
        self._tidy(membership, is_left_out)
        wanted = [name for name in self.due(membership, now) if not is_left_out(name)]
        if not wanted:
            return
        try:
            self._fetch(settings, environ, membership, wanted, now)
        except Exception as error:  # whatever it was, the next attempt waits
            self._failed(error, now)
            raise
        self.problem = None
        self._retry_at, self._pause_ms = 0, PAUSE_MS

    def _fetch(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        membership: Membership,
        wanted: Iterable[str],
        now: int,
    ) -> None:
        from mash_plugin.group.fetch import fetch  # loads psycopg

        known = {identity: self._cache.state_of(identity, membership) for identity in wanted}
        for found in fetch(settings, environ, known, now):
            if found.records is None:
                self._cache.renew(found.identity, membership, now)
            else:
                self._cache.keep(found.identity, found.records, membership, now, found.state)

    def _failed(self, error: Exception, now: int) -> None:
        if isinstance(error, SharedAuthFailed):
            self._cache.clear()
        told = error if isinstance(error, MashError) else Internal()
        self.problem = Problem(told.code, told.message, now)
        self._retry_at = now + self._pause_ms
        self._pause_ms = min(2 * self._pause_ms, LONGEST_PAUSE_MS)

    def _tidy(self, membership: Membership, is_left_out: IsLeftOut) -> None:
        self._cache.drop_damaged()
        for one in self._cache.kept():
            if one.membership != membership or is_left_out(one.identity):
                self._cache.drop(one.identity)


class Looking:
    """What a hook or a tool sees: copies of this membership alone, and no network."""

    def __init__(self, copies: Copies, settings: Settings) -> None:
        self._copies = copies
        self._settings = settings

    def look(self, identity: str, now: int) -> GroupCopy | None:
        """The copy of a repository, if there is one, which is kept fresh from now on."""
        membership = membership_of(self._settings)
        return None if membership is None else self._copies.look(identity, membership, now)


def _is_fresh(copy: GroupCopy | None, now: int) -> bool:
    return copy is not None and 0 <= now - copy.read_at < FRESH_MS
