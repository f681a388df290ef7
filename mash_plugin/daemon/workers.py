"""Work off the request path: index, hook state, checkpoints and the daily backup."""

import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mash_plugin.chats.report import IndexReport, Progress
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.fetching import Fetching
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import Node
from mash_plugin.errors import MashError
from mash_plugin.memory.call import Caller

if TYPE_CHECKING:
    from mash_plugin.daemon.bridge import Bridge
    from mash_plugin.daemon.publishing import Publishing

RULES_AFTER_S = 0.5
"""The rules for prompts and credentials are compiled before a prompt needs them, and not while
the first answer waits."""
FIRST_INDEX_AFTER_S = 1.0
"""A hook that started the daemon has its answer by then."""
SESSIONS_AFTER_S = 6.0
INDEX_EVERY_S = 15 * 60
TRANSCRIPTS_AFTER_S = 0.2
"""Reading a transcript at once would slow the answer of the hook that named it."""
MOST_TRANSCRIPTS = 1_000
"""Waiting to be read one by one; when more do, everything is looked through instead."""
MOST_PATH_CHARS = 4_096
STATE_AFTER_S = 1.0
"""Hook state is written this long after its first unsaved change."""
CHECKPOINT_EVERY_S = 60.0
PURGE_EVERY_S = 60.0
"""How often it is asked whether a hidden record has had its day."""
SCRUB_AGAIN_S = 1.0
"""The pause before deleted text is scrubbed; twice as long each time a reader is in the way."""
GROUP_AFTER_S = 7.0
GROUP_EVERY_S = 60.0
"""How often it is asked whether copies of the group's records are to be fetched or removed."""
GROUP_SOON_S = 0.2
"""Fetching at once would slow the answer of the hook that looked for them."""
SESSIONS_EVERY_S = 60.0
"""How often it is asked which sessions have ended or rest."""
BACKUP_EVERY_S = 10 * 60
"""How often it is asked whether the day's backup is due."""


@dataclass(slots=True)
class IndexRun:
    """The full index run that goes on, or the last one."""

    number: int = 0
    is_running: bool = False
    progress: Progress | None = None
    report: IndexReport | None = None
    error: dict[str, object] | None = None


@dataclass(slots=True)
class _Due:
    """When each kind of work is to be done next, on the monotonic clock."""

    index: float
    checkpoint: float
    purge: float
    backup: float
    rules: float
    sessions: float
    group: float
    scrub: float = 0.0
    """At once: a process that was killed may have left deleted text behind."""
    scrub_pause: float = SCRUB_AGAIN_S
    state: float | None = None
    transcripts_from: float = 0.0
    transcripts: dict[tuple[str, str], None] = field(default_factory=dict)


class Workers:
    """One thread at low priority, so that a full index never delays a hook."""

    def __init__(self, node: Node, log: Log) -> None:
        now = time.monotonic()
        self.index_run = IndexRun()
        self._node = node
        self._log = log
        self._due = _Due(
            index=now + FIRST_INDEX_AFTER_S,
            checkpoint=now + CHECKPOINT_EVERY_S,
            purge=now + 4.0,
            backup=now + 5.0,
            rules=now + RULES_AFTER_S,
            sessions=now + SESSIONS_AFTER_S,
            group=now + (GROUP_SOON_S if node.is_group_asked else GROUP_AFTER_S),
        )
        self._bridge: Bridge | None = None
        self._publishing: Publishing | None = None
        self._fetching = Fetching(node, log)
        self._has_forgotten = False
        self._regular: tuple[tuple[str, float, Callable[[], None]], ...] = (
            ("purge", PURGE_EVERY_S, self._purge),  # before the backup, which would keep the text
            ("backup", BACKUP_EVERY_S, self._back_up),
            ("sessions", SESSIONS_EVERY_S, self._capture_sessions),
            ("group", GROUP_EVERY_S, self._look_after_group),
            ("checkpoint", CHECKPOINT_EVERY_S, node.checkpoint),
        )
        """What is to be done again and again, the first that is due first."""
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_working = False
        node.on_transcript = self._transcript_grew
        node.on_hook_state = self._state_changed
        node.on_unclean = self._scrub_soon
        node.on_group_asked = self._group_soon
        self._due.transcripts.update(dict.fromkeys(node.grown))
        self._state_changed()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def start_index(self) -> int:
        """Begin a full index run, or join the one that goes on; its number."""
        with self._changed:
            if not self.index_run.is_running:
                self.index_run = IndexRun(self.index_run.number + 1, is_running=True)
                self._due.index = 0.0
                self._changed.notify()
            return self.index_run.number

    def publishing(self) -> "Publishing":
        """The publication to the group, begun when it is first asked for."""
        with self._changed:
            if self._publishing is None:
                from mash_plugin.daemon.publishing import Publishing  # most have no group

                self._publishing = Publishing(
                    self._node, self._log, lambda: self.index_run.report is not None
                )
            return self._publishing

    def is_busy(self) -> bool:
        """Whether something waits or is being done that the daemon should not exit before."""
        publishing = self._publishing
        with self._changed:
            due = self._due
            return bool(
                self._is_working
                or (publishing is not None and publishing.is_busy())
                or due.transcripts
                or due.state is not None
                or self.index_run.is_running
            )

    def close(self) -> None:
        """Stop at the next safe place, then save the hooks' state."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        if self._publishing is not None:
            self._publishing.close()
        self._thread.join(10.0)
        self._try("hook-state", self._save_state)

    def _transcript_grew(self, agent: str, path: str) -> None:
        with self._changed:
            if len(self._due.transcripts) >= MOST_TRANSCRIPTS or len(path) > MOST_PATH_CHARS:
                self._due.index = min(self._due.index, time.monotonic())  # it finds all of them
            else:
                if not self._due.transcripts:
                    self._due.transcripts_from = time.monotonic() + TRANSCRIPTS_AFTER_S
                self._due.transcripts[agent, path] = None
            self._changed.notify()

    def _state_changed(self) -> None:
        with self._changed:
            if self._due.state is None:
                self._due.state = time.monotonic() + STATE_AFTER_S
                self._changed.notify()

    def _scrub_soon(self) -> None:
        with self._changed:
            soon = time.monotonic() + self._due.scrub_pause
            self._due.scrub = min(self._due.scrub, soon)
            self._changed.notify()

    def _group_soon(self) -> None:
        with self._changed:
            self._due.group = min(self._due.group, time.monotonic() + GROUP_SOON_S)
            self._changed.notify()

    def _run(self) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        while True:
            with self._changed:
                self._is_working = False
                name, work = self._next_work()
                while work is None and not self._is_closed:
                    self._changed.wait(self._wait_s())
                    name, work = self._next_work()
                if self._is_closed or work is None:
                    return
                self._is_working = True
            self._try(name, work)

    def _next_work(self) -> tuple[str, Callable[[], None] | None]:
        """What is due first; marks it as taken."""
        now, due = time.monotonic(), self._due
        if due.state is not None and now >= due.state:
            due.state = None
            return "hook-state", self._save_state
        if due.transcripts and now >= due.transcripts_from:
            agent, path = next(iter(due.transcripts))
            del due.transcripts[agent, path]
            return "transcript", lambda: self._index_one(agent, path)
        if now >= due.rules:
            due.rules = math.inf
            return "rules", _read_rules
        if now >= due.scrub:
            due.scrub = math.inf
            return "scrub", self._scrub
        if now >= due.index:
            due.index = now + INDEX_EVERY_S
            return "index", self._index_all
        for name, every_s, work in self._regular:
            if now >= getattr(due, name):
                setattr(due, name, now + every_s)
                return name, work
        return "", None

    def _wait_s(self) -> float:
        due = self._due
        soonest = min(due.index, due.checkpoint, due.purge, due.backup, due.rules, due.scrub)
        soonest = min(soonest, due.sessions, due.group, due.state or soonest)
        if due.transcripts:
            soonest = min(soonest, due.transcripts_from)
        return max(0.01, soonest - time.monotonic())

    def _try(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except MashError as error:
            self._log.write("background", work=name, failure=error.code)
        except Exception as error:  # the thread's boundary: the next piece of work must go on
            self._log.write("background", work=name, failure=type(error).__name__)

    def _save_state(self) -> None:
        self._node.hook_state.flush(now_ms())

    def _index_one(self, agent: str, path: str) -> None:
        self._node.chats.refresh_path(agent, path, now_ms())

    def _index_all(self) -> None:
        with self._changed:
            if not self.index_run.is_running:
                self.index_run = IndexRun(self.index_run.number + 1, is_running=True)
        run = self.index_run

        def note(progress: Progress) -> None:
            run.progress = progress

        try:
            run.report = self._node.chats.refresh_all(
                now_ms(), progress=note, should_stop=lambda: self._is_closed
            )
            self._recheck()
            self._drop_old()
        except MashError as error:
            run.error = error.as_json()
            raise
        finally:
            run.is_running = False
        self._log.write("index", **run.report._asdict() | {"rewritten": len(run.report.rewritten)})

    def _recheck(self) -> None:
        from mash_plugin.memory.freshness import recheck_rebuilt

        recheck_rebuilt(self._node.call(Caller(), now_ms(), {}))

    def _drop_old(self) -> None:
        dropped = self._node.chats.drop_old(now_ms())
        if dropped:
            self._log.write("retention", chats=dropped)

    def _look_after_group(self) -> None:
        settings = self._node.settings({})
        if settings.group_dsn_file is not None:
            self.publishing()
        elif settings.problem is None:  # a file that cannot be read tells of no leaving
            self._leave_group()
        self._fetching.look_after()

    def _leave_group(self) -> None:
        """Note changes for a group no longer, once it was left."""
        from mash_plugin.store import publication

        with self._node.store.reading() as db:
            is_joined = publication.membership(db) is not None
        if is_joined:
            with self._node.store.writing() as db:
                publication.leave(db)

    def _purge(self) -> None:
        from mash_plugin.memory.forget import purge_hidden

        purge_hidden(self._node.call(Caller(), now_ms(), {}))

    def _scrub(self) -> None:
        from mash_plugin.memory.forget_chat import finish_forgetting

        is_done = finish_forgetting(self._node.call(Caller(), now_ms(), {}))
        pause = SCRUB_AGAIN_S if is_done else min(2 * self._due.scrub_pause, CHECKPOINT_EVERY_S)
        self._due.scrub_pause = pause
        self._has_forgotten = True

    def _capture_sessions(self) -> None:
        is_on, has_forgotten = self._node.settings({}).capture_sessions, self._has_forgotten
        if not is_on and not (has_forgotten and self._is_any_forgotten()):
            return  # the queue is not ours to drain
        if self._bridge is None:
            from mash_plugin.daemon.bridge import Bridge  # nothing of it where it is off

            self._bridge = Bridge(self._node)
        self._bridge.must_forget |= has_forgotten
        if not is_on:
            self._bridge.forget(now_ms())
            self._has_forgotten = False
            return
        sessions, artifacts = self._bridge.run(now_ms())
        self._has_forgotten = False
        if sessions:
            self._log.write("captured", sessions=sessions, artifacts=artifacts)

    def _is_any_forgotten(self) -> bool:
        from mash_plugin.store.forgotten import has_marks

        with self._node.store.reading() as db:
            return has_marks(db)

    def _back_up(self) -> None:
        from mash_plugin.store.backup import daily

        daily(self._node.store, self._node.paths.backups, now_ms())


def _read_rules() -> None:
    from mash_plugin.privacy import credentials
    from mash_plugin.records import cues

    credentials.get_ready()
    cues.reads_lasting("ok")  # compiles the rules that every prompt is tried on, and English
