"""Find the transcripts under the roots, and read what is new in one."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, NamedTuple

from mash_plugin.agents.events import Agent, ReaderState, TranscriptFile
from mash_plugin.agents.lines import open_transcript
from mash_plugin.chat_ids import chat_id
from mash_plugin.chats.beginning import Beginning, Surroundings, begin, is_settled
from mash_plugin.chats.settle import Settled
from mash_plugin.chats.stretch import From, Stretch, read_stretch, reader_state
from mash_plugin.errors import InvalidArgument
from mash_plugin.store.chats import SQL, chat_state, load_file
from mash_plugin.store.sqlite import Database

PROJECT_BYTES = 256 * 1024
"""Every client names the folder in its first lines."""
Ready = tuple[Beginning, Stretch]
_SESSION_ID = re.compile(r"\A[A-Za-z0-9._-]{1,128}(/[A-Za-z0-9._-]{1,128})?\Z")


class Transcripts(NamedTuple):
    """The transcripts that may be read, as they lie on disk."""

    database: Database
    roots: Callable[[], list[tuple[str, str]]]
    is_forgotten: Callable[[str, str], bool]
    agent_named: Callable[[str], Agent | None]

    def roots_of(self, agent: str) -> list[str]:
        """The folders of one agent."""
        return [root for name, root in self.roots() if name == agent]

    def changed(self) -> Iterator[tuple[TranscriptFile, os.stat_result]]:
        """Every transcript that is not as it was when it was read."""
        for name, root in self.roots():
            host = self.agent_named(name)
            for file in host.find_transcripts(root) if host else ():
                with suppress(OSError):
                    status = os.stat(file.path)
                    if not self._is_settled(file.path, status) and not self.is_forgotten(
                        file.agent, file.session_id
                    ):
                        yield file, status

    def of_session(self, session_id: str) -> TranscriptFile | None:
        """The transcript of a session; the ID never becomes a path unchecked."""
        if not _SESSION_ID.match(session_id):
            return None
        with self.database.reading() as db:
            known = db.all(SQL.paths_of_session, {"session_id": session_id})
        for agent, path, is_subagent in known:
            if os.path.isfile(path):
                return TranscriptFile(agent, path, session_id, bool(is_subagent))
        for name, root in self.roots():
            host = self.agent_named(name)
            file = host.find_session(root, session_id) if host else None
            if file is not None:
                return file
        return None

    def beside(self, file: TranscriptFile) -> list[str]:
        """Other files that hold the same session."""
        with self.database.reading() as db:
            rows = db.all(SQL.paths_of_session, {"session_id": file.session_id})
        return [path for _, path, _ in rows if path != file.path and os.path.isfile(path)]

    def at_path(self, agent: str, path: str) -> TranscriptFile | None:
        """The transcript that a hook names; None outside the roots of that agent."""
        host = self.agent_named(agent)
        real = os.path.realpath(path) if "\0" not in path else ""
        if not os.path.isfile(real):  # a session's first prompt comes before its transcript
            return None
        for root in self.roots_of(agent) if host else ():
            if host and real.startswith(os.path.realpath(root).rstrip("/") + "/"):
                file = self._in_root(host, root, real)
                if file is not None:
                    return file
        return None

    def begin(
        self, file: TranscriptFile, handle: BinaryIO, around: Surroundings
    ) -> Beginning | None:
        """Where to read on; None when nothing is new."""
        with self.database.reading() as db:
            return begin(db, file, handle, around)

    def read(self, file: TranscriptFile, around: Surroundings, budget: int) -> Ready | Settled:
        """The next stretch of a transcript; Settled when there is none."""
        host = self.agent_named(file.agent)
        with self.opened(file) as handle:
            if handle is None or host is None:
                return Settled(None, is_refused=True)
            beginning = self.begin(file, handle, around)
            if beginning is not None:
                return beginning, read_stretch(handle, file, host, beginning.at, budget)
        with self.database.reading() as db:
            is_known = chat_state(db, file.agent, file.session_id) is not None
        return Settled(chat_id(file.agent, file.session_id) if is_known else None)

    def project_path(self, file: TranscriptFile) -> str | None:
        """The folder that a transcript names near its beginning; nothing is stored."""
        state = self._first_lines(file)
        return state.project_path if state else None

    def parent_of(self, file: TranscriptFile) -> str | None:
        """The session that started this one's agent, as the transcript tells, forgotten or not."""
        seeing = self._replace(is_forgotten=lambda _source, _session: False)
        state = seeing._first_lines(file)
        return state.parent_session if state else None

    @contextmanager
    def opened(self, file: TranscriptFile) -> Iterator[BinaryIO | None]:
        """The bytes of a transcript; None when they may not be read."""
        handle = None
        if not self.is_forgotten(file.agent, file.session_id):
            with suppress(InvalidArgument):
                handle = open_transcript(file.path, self.roots_of(file.agent))
        try:
            yield handle
        finally:
            if handle is not None:
                handle.close()

    def _first_lines(self, file: TranscriptFile) -> ReaderState | None:
        host = self.agent_named(file.agent)
        if host is None or self.is_forgotten(file.agent, file.session_id):
            return None
        return first_lines(file, host, self.roots_of(file.agent))

    def _is_settled(self, path: str, status: os.stat_result) -> bool:
        with self.database.reading() as db:
            row = load_file(db, path)
        return row is not None and is_settled(row, status)

    def _in_root(self, host: Agent, root: str, path: str) -> TranscriptFile | None:
        with self.database.reading() as db:
            row = load_file(db, path)
        if row is not None:
            return TranscriptFile(row.agent, path, row.session_id, row.is_subagent)
        files = host.find_transcripts(root)
        return next((file for file in files if os.path.realpath(file.path) == path), None)


def first_lines(file: TranscriptFile, host: Agent, roots: list[str]) -> ReaderState | None:
    """What a transcript says of itself near its beginning; None when it may not be read."""
    try:
        with open_transcript(file.path, roots) as handle:
            stretch = read_stretch(handle, file, host, From(0, "{}", b""), PROJECT_BYTES)
    except InvalidArgument:
        return None
    return reader_state(stretch.reader)
