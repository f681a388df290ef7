"""What was shown to each session and when: true in memory, written behind to the store.

No hook waits for a disk. A daemon that is killed loses the last seconds of this, which can
show a block twice; records are never kept here.
"""

import threading
from collections.abc import Callable, Iterable

from mash_plugin.errors import MashError
from mash_plugin.store import queries
from mash_plugin.store.heartbeats import Heartbeats
from mash_plugin.store.latency import Latency
from mash_plugin.store.ledger import Ledger
from mash_plugin.store.pauses import Pauses
from mash_plugin.store.session_rows import (
    CHAT,
    SessionState,
    Unsaved,
    load_session,
    put_back,
    take_unsaved,
    write_unsaved,
)
from mash_plugin.store.sqlite import Database

KEEP_MS = 90 * 86_400_000
SESSIONS_IN_MEMORY = 1_000

_sql = queries.load("sessions")


class HookState:
    """Owns the state of all sessions; every method is safe from several threads."""

    def __init__(self, database: Database, on_change: Callable[[], None] = lambda: None) -> None:
        self.heartbeats = Heartbeats(database)
        self.ledger = Ledger(database)
        self.latency = Latency(database)
        self.pauses = Pauses(database)
        self._database = database
        self._on_change = on_change
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        """Held until what was taken is written: who flushes in order to read finds all of it."""
        self._began_at: int | None = None
        """When the first hook of this daemon came."""
        self._sessions: dict[str, SessionState] = {}
        self._forgotten: set[str] = set()
        """They go on perhaps, and their starts did arrive."""
        self._unsaved: set[str] = set()

    def touch(
        self,
        session_id: str,
        agent: str,
        hook: str,
        now: int,
        project: str | None = None,
        start: threading.Event | None = None,
    ) -> SessionState:
        """Note that a hook of this session ran; the first one starts its clock (R-126).

        With `start` it is a start, which takes the place of any that never arrived. A session
        whose first hook is another one had a start that did not reach us.
        """
        with self._lock:
            known = session_id in self._sessions
        loaded = None if known else self._load(session_id)
        with self._lock:
            self._began_at = self._began_at or now
            session = self._sessions.get(session_id)
            if session is None:
                session = loaded or SessionState(agent, now, now)
                if session_id not in self._forgotten:
                    session.owed = session.missed_start(self._began_at)
                if start is None and loaded is None and session.owed is not None:
                    self.latency.add_late("session-start", now)
                self._sessions[session_id] = session
            if start is not None:
                session.start_under_way, session.owed = start, None
            session.last_activity_at = max(session.last_activity_at, now)
            session.has_ended = False  # a session that ended can be resumed
            session.project = project or session.project
            self.heartbeats.note(agent, hook, now)
            self._changed(session_id)
            self._make_room()
            return session

    def end(self, session_id: str) -> None:
        """Note that the agent told the session's end."""
        with self._lock:
            self._sessions[session_id].has_ended = True

    def is_known(self, session_id: str) -> bool:
        """Whether a hook of this session ran, here or before."""
        with self._lock:
            if session_id in self._sessions:
                return True
        return self._load(session_id) is not None

    def has_ended(self, session_id: str) -> bool:
        """Whether this daemon was told the session's end."""
        with self._lock:
            session = self._sessions.get(session_id)
            return session is not None and session.has_ended

    def claim_block(self, session_id: str, source: str, now: int) -> bool:
        """Whether this source's full block is still to be shown; true once, save for compact.

        A compaction drops what was injected, so its block and the files' context come again.
        """
        with self._lock:
            session = self._sessions[session_id]
            if source == "compact":
                session.drop_shown()
            elif source in session.shown_sources:
                return False
            session.shown_sources.add(source)
            session.last_full_block_at = now
            self._changed(session_id)
            return True

    def give_back_block(
        self,
        session_id: str,
        source: str,
        shown_until: int | None,
        before: Iterable[str] = (),
    ) -> None:
        """Let a block that was claimed a moment ago, but never arrived, count as not shown.

        It is owed then; `before` is what had been shown since the last prompt.
        """
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None:
                session.shown_sources.discard(source)
                session.last_full_block_at = shown_until
                session.told_to_cite_by = None
                session.shown_since_prompt = set(before)
                session.owed = source
                self._changed(session_id)

    def owe(self, session_id: str, source: str) -> None:
        """Let the next prompt bring what the answer to this start had no time for."""
        with self._lock:
            if session_id in self._sessions:
                self._sessions[session_id].owed = source

    def claim_owed(self, session_id: str, now: int) -> str | None:
        """The source of the start that a prompt is to make up for; two at once get it once."""
        with self._lock:
            session = self._sessions[session_id]
            source, session.owed = session.owed, None
            if source is not None and (source != "resume" or session.last_full_block_at is None):
                session.shown_sources.add(source)
                session.last_full_block_at = now
                self._changed(session_id)
            return source

    def note_block(self, session_id: str, shown_until: int) -> None:
        """Note up to which time the session was shown what had changed."""
        with self._lock:
            self._sessions[session_id].last_full_block_at = shown_until
            self._changed(session_id)

    def note_shown(self, session_id: str, ids: Iterable[str], now: int) -> None:
        """Note what a session was shown that may come again: its block, or the saving note."""
        with self._lock:
            self._sessions[session_id].note_shown(ids, now)
            self._changed(session_id)

    def claim_reminder(
        self, session_id: str, now: int, is_due: Callable[[int, int | None, int], bool]
    ) -> bool:
        """Whether the safety net is due now; two prompts at once get one reminder.

        A clock that was ahead and is right again must not silence it until then.
        """
        with self._lock:
            session = self._sessions[session_id]
            session.first_seen_at = min(session.first_seen_at, now)
            if session.last_reminder_at is not None:
                session.last_reminder_at = min(session.last_reminder_at, now)
            if not is_due(session.first_seen_at, session.last_reminder_at, now):
                return False
            session.last_reminder_at = now
            self._changed(session_id)
            return True

    def give_back_note(self, session_id: str, last_reminder_at: int | None) -> None:
        """Let a note that never arrived count as not given."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None:
                session.last_reminder_at = last_reminder_at
                session.told_to_cite_by = None
                self._changed(session_id)

    def claim_shown(
        self, session_id: str, reader: str, path: str, ids: Iterable[str], now: int
    ) -> set[str]:
        """Those IDs that this reader has not yet seen with this file; they count as shown now."""
        with self._lock:
            new = self._sessions[session_id].show(reader, path, ids, now)
            if new:
                self._changed(session_id)
            return new

    def take_back(
        self, session_id: str, reader: str, path: str, ids: Iterable[str], at: int
    ) -> None:
        """Let IDs that counted as shown since `at`, but found no room or got lost, not count."""
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None:
                session.take_back(reader, path, ids, at)
                self._changed(session_id)

    def chats_shown_with_files(self, session_id: str, reader: str) -> set[str]:
        """The chats, as `chat:ID`, that this reader was shown with any file."""
        with self._lock:
            return self._sessions[session_id].chats_with_files(reader)

    def records_in_context(self, session_id: str) -> frozenset[str]:
        """The records that the session's own agent has in front of it."""
        with self._lock:
            return self._sessions[session_id].records_in_context()

    def records_shown_at(self, session_id: str, reader: str, path: str) -> int | None:
        """When this reader was last shown records with this file; None when it was not yet."""
        with self._lock:
            return self._sessions[session_id].records_at(reader, path)

    def forget(self, session_ids: Iterable[str], chat_ids: Iterable[str]) -> None:
        """Drop what is known of sessions, and that any session was shown one of these chats."""
        gone = {f"{CHAT}{chat_id}" for chat_id in chat_ids}
        with self._lock:
            for session_id in session_ids:
                if self._sessions.pop(session_id, None):
                    self._forgotten.add(session_id)
                self._unsaved.discard(session_id)
                self.ledger.forget(session_id)
            for session in self._sessions.values():
                session.forget_chats(gone)
        self.pauses.read_again()

    def flush(self, now: int) -> int:
        """Write what changed in one transaction; the number of sessions. Not for a hook.

        What another thread is writing is there too then. Raises what the store raises; nothing
        is lost then, the next flush tries again.
        """
        with self._flushing:
            return self._flush(now)

    def _flush(self, now: int) -> int:
        with self._lock:
            work = [
                take_unsaved(i, s)
                for i in sorted(self._unsaved)
                if (s := self._sessions.get(i)) is not None
            ]
            self._unsaved.clear()
        seen, latency = self.heartbeats.take(), self.latency.take()
        if not work and not seen and not latency:
            return 0
        injected = self.ledger.take()
        try:
            with self._database.writing() as db:
                for unsaved in work:
                    write_unsaved(db, unsaved)
                self.heartbeats.write(db, seen)
                self.ledger.write(db, injected)
                self.latency.write(db, latency)
                db.run(_sql.delete_old_sessions, {"now": now, "keep_ms": KEEP_MS})
        except MashError:
            self.heartbeats.put_back(seen)
            self.ledger.put_back(injected)
            self.latency.put_back(latency)
            self._put_back(work)
            raise
        return len(work)

    def _put_back(self, work: list[Unsaved]) -> None:
        with self._lock:
            for unsaved in work:
                session = self._sessions.get(unsaved.session_id)
                if session is None:
                    continue
                self._unsaved.add(unsaved.session_id)
                put_back(session, unsaved)

    def _changed(self, session_id: str) -> None:
        self._unsaved.add(session_id)
        self._on_change()

    def _load(self, session_id: str) -> SessionState | None:
        try:
            with self._database.reading() as db:
                return load_session(db, session_id)
        except MashError:
            return None  # a broken store must not cost the hook its answer

    def _make_room(self) -> None:
        if len(self._sessions) <= SESSIONS_IN_MEMORY:
            return
        # Where nothing can be written for long, what is not saved must go at last.
        may_go_unsaved = len(self._sessions) > 2 * SESSIONS_IN_MEMORY
        saved = (i for i in self._sessions if may_go_unsaved or i not in self._unsaved)
        oldest = min(saved, key=lambda i: self._sessions[i].last_activity_at, default=None)
        if oldest is not None:
            del self._sessions[oldest]
