"""Keep the index of chats in step with the agents' transcripts; work is O(new bytes)."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from mash_plugin.agents import agent_named
from mash_plugin.agents.events import Agent, TranscriptFile
from mash_plugin.agents.lines import open_transcript
from mash_plugin.chats.ids import SESSION_ID
from mash_plugin.chats.stretch import Settled, Surroundings, advance, is_settled
from mash_plugin.errors import InvalidArgument
from mash_plugin.store.chats import SQL, load_file
from mash_plugin.store.sqlite import Connection, Database
from mash_plugin.tokens import forget_memo

STRETCH_BYTES = 8 * 1024 * 1024
STRETCH_S = 0.05
"""A citing call waits for at most one stretch of a full index."""


LOG_BYTES = 16 * 1024 * 1024
"""A longer write-ahead log is moved into the file on the way."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a full index has come."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an index run found."""

    files: int = 0
    new_messages: int = 0
    bytes_read: int = 0
    bytes_skipped: int = 0
    """Bytes of tool output and of over-long lines that were not kept."""
    lines_skipped: int = 0
    refused: int = 0
    """Files that could not be opened: compressed, someone else's, not ordinary."""
    rewritten: tuple[str, ...] = ()
    """Chats whose earlier messages were read again: their evidence is to be checked."""


@dataclass(slots=True)
class _Run:
    """One full index on its way."""

    now: int
    deny: Sequence[str]
    progress: Callable[[Progress], None] | None
    should_stop: Callable[[], bool]
    report: IndexReport = IndexReport()
    rewritten: list[str] = field(default_factory=list)
    files_total: int = 0
    bytes_total: int = 0

    def add(self, settled: Settled) -> None:
        so_far = self.report
        self.report = IndexReport(
            files=so_far.files + settled.is_finished,
            new_messages=so_far.new_messages + settled.new_messages,
            bytes_read=so_far.bytes_read + settled.bytes_read,
            bytes_skipped=so_far.bytes_skipped + settled.bytes_skipped,
            lines_skipped=so_far.lines_skipped + settled.lines_skipped,
            refused=so_far.refused + settled.is_refused,
        )
        if settled.rebuilt:
            self.rewritten.append(settled.rebuilt)

    def tell(self) -> None:
        if self.progress:
            done = self.report
            self.progress(Progress(done.files, self.files_total, done.bytes_read, self.bytes_total))


class ChatIndex:
    """Reads transcripts under the roots into the chat index."""

    def __init__(
        self,
        database: Database,
        roots: Callable[[], list[tuple[str, str]]],
        *,
        is_forgotten: Callable[[str, str], bool] = lambda _source, _session: False,
        deny: Callable[[], Sequence[str]] = tuple,
        agent_named: Callable[[str], Agent | None] = agent_named,
    ) -> None:
        self.database = database
        self._roots = roots
        self._is_forgotten = is_forgotten
        self._deny = deny
        self._agent_named = agent_named
        self.private_key = _private_key(database)

    def refresh_session(self, session_id: str, now: int) -> str | None:
        """Take in what a session has said since; its chat ID, or None when none is known."""
        if not SESSION_ID.match(session_id):
            return None
        file = self._find_session(session_id)
        return None if file is None else self._refresh(file, now)

    def refresh_path(self, agent: str, path: str, now: int) -> str | None:
        """Take in what a transcript holds since; the path is a hint, checked against the roots."""
        host = self._agent_named(agent)
        if host is None:
            return None
        real = os.path.realpath(path) if "\0" not in path else ""
        for name, root in self._roots():
            if name == agent and real.startswith(os.path.realpath(root).rstrip("/") + "/"):
                file = self._file_at(host, root, real)
                if file is not None:
                    return self._refresh(file, now)
        return None

    def refresh_all(
        self,
        now: int,
        progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        deny: Sequence[str] = (),
    ) -> IndexReport:
        """Take in whatever is new under all roots, the newest transcripts first."""
        run = _Run(now, deny, progress, should_stop)
        self._take_in_all(run)
        if run.rewritten:  # what a rebuilt chat has in a second file is to be read once more
            self._take_in_all(run)
        forget_memo()
        self.database.checkpoint("PASSIVE")
        return replace(run.report, rewritten=tuple(run.rewritten))

    def _take_in_all(self, run: "_Run") -> None:
        queue = sorted(self._changed_files(), key=lambda item: item[1].st_mtime_ns)
        run.files_total += len(queue)
        run.bytes_total += sum(status.st_size for _, status in queue)
        while queue and not run.should_stop():
            deadline, budget = monotonic() + STRETCH_S, STRETCH_BYTES
            with self.database.writing() as db:
                while queue and budget > 0 and monotonic() < deadline:
                    file = queue[-1][0]
                    settled = self._advance(db, file, run.now, budget, deadline, run.deny)
                    budget -= settled.bytes_read + 1
                    run.add(settled)
                    if settled.is_finished:
                        queue.pop()
            self._keep_log_short()
            run.tell()

    def _keep_log_short(self) -> None:
        try:
            is_long = os.path.getsize(self.database.path + "-wal") > LOG_BYTES
        except OSError:
            return
        if is_long:
            self.database.checkpoint("PASSIVE")

    def _refresh(self, file: TranscriptFile, now: int) -> str | None:
        while True:
            deadline = monotonic() + STRETCH_S
            with self.database.writing() as db:
                settled = self._advance(db, file, now, STRETCH_BYTES, deadline, ())
            if settled.is_finished:
                break
        if settled.rebuilt:
            for path in self._paths_of(file.session_id):
                if path != file.path and os.path.isfile(path):
                    self._refresh(replace(file, path=path), now)
        return settled.chat_id

    def _advance(
        self,
        db: Connection,
        file: TranscriptFile,
        now: int,
        budget: int,
        deadline: float,
        deny: Sequence[str],
    ) -> Settled:
        host = self._agent_named(file.agent)
        if host is None or self._is_forgotten(file.agent, file.session_id):
            return Settled(None)
        roots = [root for name, root in self._roots() if name == file.agent]
        try:
            handle = open_transcript(file.path, roots)
        except InvalidArgument:
            return Settled(None, is_refused=True)
        with handle:
            around = Surroundings(host, self.private_key, (*self._deny(), *deny), now)
            return advance(db, file, handle, around, budget, deadline)

    def _changed_files(self) -> Iterator[tuple[TranscriptFile, os.stat_result]]:
        for name, root in self._roots():
            host = self._agent_named(name)
            if host is None:
                continue
            for file in host.find_transcripts(root):
                try:
                    status = os.stat(file.path)
                except OSError:
                    continue
                if not self._is_unchanged(file.path, status):
                    yield file, status

    def _is_unchanged(self, path: str, status: os.stat_result) -> bool:
        with self.database.reading() as db:
            row = load_file(db, path)
        return row is not None and is_settled(row, status)

    def _paths_of(self, session_id: str) -> list[str]:
        with self.database.reading() as db:
            rows = db.all(SQL.paths_of_session, {"session_id": session_id})
        return [path for _, path, _ in rows]

    def _find_session(self, session_id: str) -> TranscriptFile | None:
        with self.database.reading() as db:
            known = db.all(SQL.paths_of_session, {"session_id": session_id})
        for agent, path, is_subagent in known:
            if os.path.isfile(path):
                return TranscriptFile(agent, path, session_id, bool(is_subagent))
        for name, root in self._roots():
            host = self._agent_named(name)
            file = host.find_session(root, session_id) if host else None
            if file is not None:
                return file
        return None

    def _file_at(self, host: Agent, root: str, path: str) -> TranscriptFile | None:
        with self.database.reading() as db:
            row = load_file(db, path)
        if row is not None:
            return TranscriptFile(row.agent, path, row.session_id, row.is_subagent)
        return next(
            (f for f in host.find_transcripts(root) if os.path.realpath(f.path) == path), None
        )


def _private_key(database: Database) -> bytes:
    with database.writing() as db:
        db.run(SQL.insert_meta, {"key": "private_key", "value": os.urandom(32)})
        row = db.one(SQL.meta_value, {"key": "private_key"})
    assert row is not None  # noqa: S101 - just inserted
    return bytes(row[0])
