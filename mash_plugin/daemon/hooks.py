"""What the four hooks answer. An answer never raises and never waits for a disk."""

from collections.abc import Mapping
from typing import Protocol

from mash_plugin.chats.index import ChatIndex
from mash_plugin.memory.call import Call, Caller
from mash_plugin.store.sessions import HookState
from mash_plugin.store.sqlite import Database


class HookNode(Protocol):
    """What the hooks need of the daemon's node."""

    store: Database
    chats: ChatIndex
    hook_state: HookState
    """`HookState(store, on_change)`; a worker calls its `flush(now)` soon after `on_change`."""

    def call(self, caller: Caller, now: int, switches: Mapping[str, str]) -> Call: ...
    def index_soon(self, agent: str, transcript_path: str) -> None:
        """Queue this transcript for the background index; returns at once."""
        ...


def answer(
    node: HookNode, name: str, agent: str, switches: Mapping[str, str], body: bytes
) -> bytes:
    """The bytes that this hook prints: one JSON object, or nothing."""
    return b""
