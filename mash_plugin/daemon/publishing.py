"""The thread that publishes to the group, and what it tells of itself.

It lives only where a group is configured. What waits is in the store: when the daemon ends, or
the server is away, nothing of it is lost, and the next daemon goes on.
"""

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mash_plugin.config import Settings
from mash_plugin.daemon.agenda import give_way
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.log import Log, place_of
from mash_plugin.daemon.node import Node
from mash_plugin.errors import Internal, MashError
from mash_plugin.store import publication

if TYPE_CHECKING:
    from mash_plugin.group.publisher import Publisher

LOOK_EVERY_S = 2.0
"""How long after a change it is published at most, while the server answers."""
READY_EVERY_S = 0.2
RULES_EVERY_S = 60.0
"""How often it is asked whether other settings, or a `.mash` file, decide otherwise by now."""
AGREE_EVERY_S = 15 * 60.0
"""How often the server is asked whether it still has what it was given."""
PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
Json = dict[str, Any]


class Publishing:
    """Owns the thread; `look` is its only clock, so that a request can make it due at once."""

    def __init__(self, node: Node, log: Log, is_read: Callable[[], bool]) -> None:
        self._node = node
        self._log = log
        self._is_read = is_read
        """Whether all chats have been read: before, a `.mash` file of a clone may not be known."""
        self._is_ready = False
        self._publisher: Publisher | None = None
        self._changed = threading.Condition()
        self._asked = self._begun = self._ended = 0
        """Attempts that were asked for, and that were begun and ended since."""
        self._how = {"again": True}
        """Of the next attempt; the first one tries again what an earlier daemon set aside."""
        self._is_closed = self._is_working = False
        self._failures = 0
        self._failure: Json | None = None
        self._next_at = time.monotonic()
        self._rules_at = self._agree_at = 0.0
        self._seen = -1
        """The store's commits at the last look."""
        self._waiting = 0
        self._tried: tuple[str, int] | None = None
        """The connection file at the last attempt."""
        self._thread = threading.Thread(target=self._run, name="publishing", daemon=True)
        self._thread.start()

    def ask(self, *, take_over: bool, again: bool) -> int:
        """Publish at once; the number of the attempt that does."""
        with self._changed:
            self._how["take_over"] = self._how.get("take_over", False) or take_over
            self._how["again"] = self._how.get("again", False) or again
            self._asked = self._begun + 1
            self._changed.notify()
            return self._asked

    def is_busy(self) -> bool:
        """Whether something is being published, or waits for a server that answers."""
        is_to_come = self._asked > self._begun or (self._waiting > 0 and not self._failures)
        return self._is_working or is_to_come

    def state(self) -> Json:
        """How it goes, for people and their programs."""
        with self._changed:
            pause_s = self._next_at - time.monotonic() if self._failures else 0.0
            entered = self._publisher.entered if self._publisher else None
            return {
                "running": self._is_working,
                "is_ready": self._is_ready,
                "attempts": {"asked": self._asked, "ended": self._ended},
                "group": entered._asdict() if entered else None,
                "last_failure": self._failure,
                "next_try_at": now_ms() + int(1000 * pause_s) if self._failures else None,
            }

    def close(self) -> None:
        """Stop at the next safe place; a server that is waited for is left."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._publisher is not None:
            self._publisher.break_off()
        self._thread.join(3.0)

    def _run(self) -> None:
        give_way()
        while not self._is_closed:
            try:
                if self._is_due():
                    self._attempt()
            except MashError as error:  # the store is busy, or cannot be read: later
                self._failed(error.as_json(), error.code)
            except Exception as error:  # the thread's boundary: the next look must go on
                self._failed(Internal().as_json(), place_of(error))
            with self._changed:
                if not self._is_closed and not (self._is_ready and self._asked > self._begun):
                    self._changed.wait(LOOK_EVERY_S if self._is_ready else READY_EVERY_S)

    def _is_due(self) -> bool:
        """Whether to connect now. Costs a comparison while nothing was saved."""
        now = time.monotonic()
        self._is_ready = self._is_ready or self._is_read()
        if not self._is_ready:
            return False
        if self._asked > self._begun:
            return True
        settings = self._node.settings({})
        if settings.group_dsn_file is None:
            return False
        if _stamp(settings) != self._tried:
            return True  # another group, or another password: no pause is kept for the former
        if now < self._next_at:
            return False
        if now >= self._agree_at:
            return True
        if self._node.store.commits != self._seen:
            self._count()
        if self._waiting:
            return True
        if now >= self._rules_at:
            self._rules_at = now + RULES_EVERY_S
            return self._has_other_rules()
        return False

    def _count(self) -> None:
        self._seen = self._node.store.commits
        with self._node.store.reading() as db:
            self._waiting = publication.backlog(db).waiting

    def _has_other_rules(self) -> bool:
        from mash_plugin.group.publication import Rules

        call = self._node.own_call()
        with call.store.reading() as db:
            joined = publication.membership(db)
            return joined is not None and joined.rules != Rules(call, db).fingerprint(db)

    def _attempt(self) -> None:
        with self._changed:
            self._begun += 1
            self._is_working = True
            how, self._how = self._how, {}
        try:
            self._tried = _stamp(self._node.settings({}))
            if self._publisher is None:
                self._publisher = self._new_publisher()
            self._publisher.run(**how)
            self._succeeded()
        except MashError as error:
            self._failed(error.as_json(), error.code)
        except Exception as error:  # the thread's boundary: the next attempt must go on
            self._failed(Internal().as_json(), place_of(error))
        finally:
            with suppress(MashError):
                self._count()
            with self._changed:
                self._is_working = False
                self._ended = self._begun

    def _new_publisher(self) -> "Publisher":
        from mash_plugin.group.publisher import Publisher, home_of

        home = home_of(self._node.paths)
        return Publisher(self._node.own_call, home, os.environ, lambda: self._is_closed)

    def _succeeded(self) -> None:
        now = time.monotonic()
        with self._changed:
            self._failures, self._failure = 0, None
            self._next_at = now
            # Not all nodes of a group at one time.
            self._agree_at = now + AGREE_EVERY_S * random.uniform(0.8, 1.2)  # noqa: S311
            self._rules_at = now + RULES_EVERY_S

    def _failed(self, error: Json, why: str) -> None:
        if self._is_closed:
            return
        with self._changed:
            pause_s = min(LONGEST_PAUSE_S, PAUSE_S * 2 ** min(self._failures, 10))
            is_new = self._failure is None or self._failure["code"] != error["code"]
            self._failures += 1
            self._failure = error | {"at": now_ms()}
            self._next_at = time.monotonic() + pause_s * random.uniform(0.5, 1.0)  # noqa: S311
        if is_new:  # not once a minute for as long as a server is away
            self._log.write("background", work="publishing", failure=why)


def _stamp(settings: Settings) -> tuple[str, int]:
    """Which connection file is named, and as of when it is."""
    from mash_plugin.group.session import dsn_file

    path = dsn_file(settings)
    try:
        return path, os.stat(path).st_mtime_ns
    except OSError:
        return path, 0
