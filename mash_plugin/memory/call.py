"""What every use case works with: the open stores, the settings, the time and the caller."""

from collections.abc import Callable
from time import sleep
from typing import TYPE_CHECKING, NamedTuple

from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import Settings
from mash_plugin.memory.windows import Windows
from mash_plugin.store.sqlite import Database

if TYPE_CHECKING:
    from mash_plugin.memory.group_copy import GroupMemory
else:
    GroupMemory = object  # a quoted name is compiled: the first one takes 1 ms of a cold start


class Caller(NamedTuple):
    """Who asks, as far as it can be told; every field is a claim."""

    agent: str | None = None
    """The client's name from MCP `initialize`."""
    session_id: str | None = None
    tool_use_id: str | None = None


class Call(NamedTuple):
    """One request at one moment."""

    store: Database
    chats: ChatIndex
    settings: Settings
    now: int
    new_id: Callable[[], str]
    windows: Windows
    caller: Caller = Caller()
    wait: Callable[[float], None] = sleep
    """How to wait for a host that has not written its newest line yet."""
    is_live: Callable[[str], bool] = lambda _: True
    """Whether hooks told of this session: only then may its transcript still appear."""
    on_damaged: Callable[[str], None] = lambda _: None
    """Logs the ID of a record that does not fit its checksum; its text is never shown."""
    group: GroupMemory | None = None
    """What others of the group established; None where the person did not ask for it."""
