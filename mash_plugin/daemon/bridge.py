"""Capture the agents' ended and idle sessions as working memories, where the person wants it."""

from collections.abc import Iterator

from mash_plugin.agents import AGENTS
from mash_plugin.chats.reading import Chat, chats_active_since, messages_from
from mash_plugin.chats.switches import is_denied, switched_off
from mash_plugin.config import Settings
from mash_plugin.daemon.node import Node
from mash_plugin.throughline import queue
from mash_plugin.throughline import settings as throughline
from mash_plugin.throughline.bridge import IDLE_MS, WINDOW_MS, capture_chat, forget_sessions
from mash_plugin.throughline.drain import drain


class Bridge:
    """Remembers what of the index is captured already; a restart only asks once more."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._captured: dict[str, str] = {}
        """Chats and the fingerprints with which they were captured."""
        self.must_forget = True
        """Whether chats may have been forgotten since it was last looked."""

    def run(self, now: int) -> tuple[int, int]:
        """Capture what has ended or rests, and drain it; how many sessions and artifacts."""
        target = throughline.configured_agent(self._node.paths.config_file)
        if target is None:
            return 0, 0
        agent, place = target
        sessions = artifacts = 0
        for chat, repository in list(self._due(now)):
            with self._node.chats.database.reading() as db:
                messages = messages_from(db, chat.id)
                done = capture_chat(agent, repository, chat, messages, place.workspace, now)
            self._captured[chat.id] = chat.fingerprint
            if done is not None and done.queued:
                sessions, artifacts = sessions + 1, artifacts + done.queued
        self._settle(agent, place, now)
        return sessions, artifacts

    def forget(self, now: int) -> None:
        """Take out what was captured of chats that are forgotten, also where none is now."""
        target = throughline.configured_agent(self._node.paths.config_file)
        if target is not None:
            self._settle(*target, now)

    def _settle(self, agent: str, place: throughline.Settings, now: int) -> None:
        """Store what waits, so that what must be forgotten of it is found, too."""
        if queue.pending(place.workspace, agent):
            drain(place, agent, now)
        if self.must_forget:
            self._forget(agent, place, now)
            self.must_forget = False

    def _due(self, now: int) -> Iterator[tuple[Chat, str]]:
        """Chats that have come to rest since they were last captured, with their repository."""
        settings, ended = self._node.settings({}), self._node.ended_sessions
        with self._node.chats.database.reading() as db:
            chats = chats_active_since(db, now - WINDOW_MS)
        recent = {chat.id for chat in chats}
        self._captured = {i: seen for i, seen in self._captured.items() if i in recent}
        for chat in chats:
            is_idle = chat.last_active_at is not None and chat.last_active_at <= now - IDLE_MS
            if self._captured.get(chat.id) == chat.fingerprint:
                continue
            if is_idle or chat.session_id in ended:
                repository = _repository(chat, settings)
                if repository is not None:
                    yield chat, repository

    def _forget(self, agent: str, place: throughline.Settings, now: int) -> None:
        from mash_plugin.chats.forget import forgotten_test

        is_forgotten = forgotten_test(self._node.store)
        forget_sessions(agent, place, AGENTS, is_forgotten, now)


def _repository(chat: Chat, settings: Settings) -> str | None:
    """What the channel of a chat is named after; None where nothing may be saved from it."""
    if chat.project_path is None:
        return None
    project = chat.project
    denied = (*settings.deny, *settings.no_index, *settings.no_capture)
    if is_denied(project, denied) or {"index", "capture"} & switched_off(project):
        return None
    return project.name
