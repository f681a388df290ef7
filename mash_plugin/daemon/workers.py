"""Work off the request path: index, hook state, checkpoints and the daily backup."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mash_plugin.daemon.agenda import Agenda, Job, give_way
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.fetching import Fetching
from mash_plugin.daemon.indexing import IndexRun, index_all
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.node import Node
from mash_plugin.errors import MashError

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
PURGE_AFTER_S = 4.0
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
BACKUP_AFTER_S = 5.0
BACKUP_EVERY_S = 10 * 60
"""How often it is asked whether the day's backup is due."""


class Workers:
    """One thread at low priority, so that a full index never delays a hook."""

    def __init__(self, node: Node, log: Log) -> None:
        self.index_run = IndexRun()
        self._node = node
        self._log = log
        self._bridge: Bridge | None = None
        self._publishing: Publishing | None = None
        self._fetching = Fetching(node, log)
        self._has_forgotten = False
        self._scrub_pause_s = SCRUB_AGAIN_S
        self._waiting: dict[tuple[str, str], None] = {}
        """Transcripts, by agent and path, that are to be read one by one."""
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_working = False
        self._plan(time.monotonic())
        node.on_transcript = self._transcript_grew
        node.on_hook_state = self._state_changed
        node.on_unclean = self._scrub_soon
        node.on_group_asked = self._group_soon
        with self._changed:
            self._waiting |= dict.fromkeys(node.grown)
            if self._waiting:
                self._transcript.by(time.monotonic())
        self._state_changed()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def _plan(self, now: float) -> None:
        """What there is to do; of what is due, the first of these is done first."""
        node = self._node
        group_after_s = GROUP_SOON_S if node.is_group_asked else GROUP_AFTER_S
        self._state = Job("hook-state", self._save_state)
        self._transcript = Job("transcript", self._index_one)
        # At once: a process that was killed may have left deleted text behind.
        self._scrubbing = Job("scrub", self._scrub, at=now)
        self._index = Job("index", self._index_all, now + FIRST_INDEX_AFTER_S, INDEX_EVERY_S)
        self._group = Job("group", self._look_after_group, now + group_after_s, GROUP_EVERY_S)
        self._agenda = Agenda(
            (
                self._state,
                self._transcript,
                Job("rules", _read_rules, at=now + RULES_AFTER_S),
                self._scrubbing,
                self._index,
                # Before the backup, which would keep the text.
                Job("purge", self._purge, now + PURGE_AFTER_S, PURGE_EVERY_S),
                Job("backup", self._back_up, now + BACKUP_AFTER_S, BACKUP_EVERY_S),
                Job("sessions", self._capture_sessions, now + SESSIONS_AFTER_S, SESSIONS_EVERY_S),
                self._group,
                Job("checkpoint", node.checkpoint, now + CHECKPOINT_EVERY_S, CHECKPOINT_EVERY_S),
            )
        )

    def start_index(self) -> int:
        """Begin a full index run, or join the one that goes on; its number."""
        with self._changed:
            if not self.index_run.is_running:
                self.index_run = IndexRun(self.index_run.number + 1, is_running=True)
                self._index.by(time.monotonic())
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
            return bool(
                self._is_working
                or (publishing is not None and publishing.is_busy())
                or self._waiting
                or self._state.is_asked_for
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
            if len(self._waiting) >= MOST_TRANSCRIPTS or len(path) > MOST_PATH_CHARS:
                self._index.by(time.monotonic())  # it finds all of them
            else:
                self._waiting[agent, path] = None
                if not self._transcript.is_asked_for:
                    self._transcript.by(time.monotonic() + TRANSCRIPTS_AFTER_S)
            self._changed.notify()

    def _state_changed(self) -> None:
        with self._changed:
            if not self._state.is_asked_for:
                self._state.by(time.monotonic() + STATE_AFTER_S)
                self._changed.notify()

    def _scrub_soon(self) -> None:
        with self._changed:
            self._scrubbing.by(time.monotonic() + self._scrub_pause_s)
            self._changed.notify()

    def _group_soon(self) -> None:
        with self._changed:
            self._group.by(time.monotonic() + GROUP_SOON_S)
            self._changed.notify()

    def _run(self) -> None:
        give_way()
        while True:
            with self._changed:
                self._is_working = False
                job = self._agenda.take(time.monotonic())
                while job is None and not self._is_closed:
                    self._changed.wait(self._agenda.wait_s(time.monotonic()))
                    job = self._agenda.take(time.monotonic())
                if self._is_closed or job is None:
                    return
                self._is_working = True
            self._try(job.name, job.work)

    def _try(self, name: str, work: Callable[[], None]) -> None:
        try:
            work()
        except MashError as error:
            self._log.write("background", work=name, failure=error.code)
        except Exception as error:  # the thread's boundary: the next piece of work must go on
            self._log.write("background", work=name, failure=type(error).__name__)

    def _save_state(self) -> None:
        self._node.hook_state.flush(now_ms())

    def _index_one(self) -> None:
        with self._changed:
            agent, path = next(iter(self._waiting))
            del self._waiting[agent, path]
            if self._waiting:
                self._transcript.by(time.monotonic())
        self._node.chats.refresh_path(agent, path, now_ms())

    def _index_all(self) -> None:
        with self._changed:
            if not self.index_run.is_running:
                self.index_run = IndexRun(self.index_run.number + 1, is_running=True)
            run = self.index_run
        index_all(self._node, self._log, run, lambda: self._is_closed)

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

        purge_hidden(self._node.own_call())

    def _scrub(self) -> None:
        from mash_plugin.memory.forget_chat import finish_forgetting

        is_done = finish_forgetting(self._node.own_call())
        longer_s = min(2 * self._scrub_pause_s, CHECKPOINT_EVERY_S)
        self._scrub_pause_s = SCRUB_AGAIN_S if is_done else longer_s
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
