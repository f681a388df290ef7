"""A chat index over transcript roots of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mash_plugin.chats.index import ChatIndex
from mash_plugin.chats.reading import Chat, StoredMessage, chat_by_session, messages_from
from mash_plugin.store.migrate import migrate
from mash_plugin.store.sqlite import Database
from tests.support.transcripts import ClaudeTranscript

NOW = 1_796_100_000_000


class Chats:
    """An index and what it says of a session."""

    def __init__(self, folder: Path) -> None:
        self.claude, self.codex = folder / "claude", folder / "codex"
        self.gemini = folder / "gemini"
        self.project = folder / "shop"
        for made in (self.claude / "projects", self.codex / "sessions", self.project):
            made.mkdir(parents=True)
        self.database = Database(str(folder / "chats.db"), "NORMAL")
        migrate(self.database, "chats")
        self.deny: list[str] = []
        self.forgotten: set[str] = set()
        self.index = ChatIndex(
            self.database,
            lambda: [
                ("claude-code", str(self.claude)),
                ("codex", str(self.codex)),
                ("gemini-cli", str(self.gemini)),
            ],
            is_forgotten=lambda _source, session: session in self.forgotten,
            deny=lambda: self.deny,
        )

    def transcript(self, session: str = "s-1", project: Path | None = None) -> ClaudeTranscript:
        return ClaudeTranscript(self.claude, str(project or self.project), session)

    def refresh(self, session: str = "s-1") -> str | None:
        return self.index.refresh_session(session, NOW)

    def chat(self, session: str = "s-1") -> Chat:
        with self.database.reading() as db:
            chat = chat_by_session(db, session)
        assert chat is not None
        return chat

    def messages(self, session: str = "s-1") -> list[StoredMessage]:
        with self.database.reading() as db:
            chat = chat_by_session(db, session)
            return list(messages_from(db, chat.id)) if chat else []

    def texts(self, session: str = "s-1") -> list[str]:
        return [message.text for message in self.messages(session)]

    def stored(self) -> int:
        """How many messages are stored, whoever holds them."""
        with self.database.reading() as db:
            row = db.one("SELECT count(*) FROM messages")
        assert row is not None
        return int(row[0])


@pytest.fixture
def chats(tmp_path: Path) -> Iterator[Chats]:
    made = Chats(tmp_path)
    yield made
    made.database.close()
