"""Keep the index of chats in step with the agents' transcripts; work is O(new bytes)."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from mash_plugin.agents import AGENTS, agent_named
from mash_plugin.chats.project import Project, project_of
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Database

if TYPE_CHECKING:  # the readers take 20 ms to import, and no hook waits for them
    from mash_plugin.agents.events import Agent, TranscriptFile
    from mash_plugin.chats.beginning import Surroundings
    from mash_plugin.chats.mentions import Mentions
    from mash_plugin.chats.report import IndexReport, Progress
    from mash_plugin.chats.transcripts import Transcripts

SQL = load("chats")
STRETCH_BYTES = 8 * 1024 * 1024


class ChatIndex:
    """Reads transcripts under the roots into the chat index."""

    def __init__(
        self,
        database: Database,
        roots: Callable[[], list[tuple[str, str]]],
        *,
        is_forgotten: Callable[[str, str], bool] = lambda _source, _session: False,
        deny: Callable[[], Sequence[str]] = tuple,
        keep_since: Callable[[int], int] = lambda _now: 0,
        agent_named: "Callable[[str], Agent | None]" = agent_named,
    ) -> None:
        self.database = database
        self.on_rebuilt: Callable[[str], None] = lambda _: None
        """Called with each chat whose transcript turned out to be rewritten, but by `refresh_all`,
        which tells them in its report."""
        self._roots = roots
        self._is_forgotten = is_forgotten
        self._agent_named = agent_named
        self._deny = deny
        self._keep_since = keep_since

    @cached_property
    def mentions(self) -> "Mentions":
        """Which chats mention a file."""
        from mash_plugin.chats.mentions import Mentions  # a session start needs none

        return Mentions(self.database)

    def refresh_session(self, session_id: str, now: int) -> str | None:
        """Take in what a session has said since; its chat ID, or None when none is known."""
        file = self._transcripts.of_session(session_id)
        return None if file is None else self._refresh(file, now)

    def project_of_session(self, session_id: str) -> Project | None:
        """Where a session takes place, by its transcript: also where none may be taken in."""
        file = self._transcripts.of_session(session_id)
        path = self._transcripts.project_path(file) if file else None
        return project_of(path) if path else None

    def is_forgotten_session(self, session_id: str) -> bool:
        """Whether the person had this session forgotten."""
        return any(self._is_forgotten(source, session_id) for source in AGENTS)

    def remove_forgotten(self) -> int:
        """Remove what is still held of forgotten chats; how many messages."""
        from mash_plugin.chats.forget import remove_forgotten

        return remove_forgotten(self.database, self._is_forgotten)

    def drop_old(self, now: int) -> int:
        """Drop the chats that are not kept any more; how many."""
        from mash_plugin.chats.retention import drop_old

        return drop_old(self.database, self._keep_since(now))

    def files_of_chat(self, chat_id: str) -> "list[TranscriptFile]":
        """The transcripts of a chat and of its agents on disk, also of a forgotten one."""
        from mash_plugin.chats.forget import find_chat

        return find_chat(self._transcripts, chat_id)

    def refresh_path(self, agent: str, path: str, now: int) -> str | None:
        """Take in what a transcript holds since; the path is a hint, checked against the roots."""
        file = self._transcripts.at_path(agent, path)
        return None if file is None else self._refresh(file, now)

    def refresh_all(
        self,
        now: int,
        progress: "Callable[[Progress], None] | None" = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> "IndexReport":
        """Take in whatever is new under all roots, the newest transcripts first."""
        from mash_plugin.chats.full_index import Run, take_in_all  # subprocess: 10 ms

        run = Run(self._transcripts, self._around(now), progress, should_stop)
        take_in_all(run)
        if run.rewritten:  # what a rebuilt chat has in a second file is to be read once more
            take_in_all(run)
        from mash_plugin.tokens import forget_memo

        forget_memo()
        return run.report._replace(rewritten=tuple(run.rewritten))

    def is_agents_folder(self, folder: str) -> bool:
        """Whether an agent keeps there what is for all projects, transcripts among it."""
        real = os.path.realpath(folder)
        return any(real == os.path.realpath(root) for _agent, root in self._roots())

    @cached_property
    def private_key(self) -> bytes:
        """What the hashes of private text are keyed with; made when first needed."""
        with self.database.writing() as db:
            db.run(SQL.insert_meta, {"key": "private_key", "value": os.urandom(32)})
            row = db.one(SQL.meta_value, {"key": "private_key"})
        assert row is not None  # noqa: S101 - just inserted
        return bytes(row[0])

    def forget_private_key(self) -> None:
        """Read the key anew when it is next needed: the store has become another one."""
        self.__dict__.pop("private_key", None)

    @cached_property
    def _transcripts(self) -> "Transcripts":
        from mash_plugin.chats.transcripts import Transcripts

        return Transcripts(self.database, self._roots, self._is_forgotten, self._agent_named)

    def _refresh(self, file: "TranscriptFile", now: int) -> str | None:
        from mash_plugin.chats.settle import Settled, settle

        around = self._around(now)
        settled = Settled(None, is_finished=False)
        first: os.stat_result | None = None
        while not settled.is_finished:
            found = self._transcripts.read(file, around, STRETCH_BYTES)
            if isinstance(found, Settled):
                return found.chat_id
            beginning, stretch = found
            if first is None or first.st_ino != beginning.status.st_ino:
                first = beginning.status
            # What is written meanwhile is for the next reading: a fast writer is not chased.
            beginning = beginning._replace(status=first)
            with self.database.writing() as db:
                settled = settle(db, beginning, stretch, around)
        if settled.rebuilt:
            for path in self._transcripts.beside(file):
                self._refresh(file._replace(path=path), now)
            self.on_rebuilt(settled.rebuilt)
        return settled.chat_id

    def _around(self, now: int) -> "Surroundings":
        from mash_plugin.chats.beginning import Surroundings

        return Surroundings(
            self.private_key, self._deny(), now, self._is_forgotten, self._keep_since(now)
        )
