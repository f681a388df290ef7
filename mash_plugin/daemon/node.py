"""What the daemon owns while it lives: the open stores, the settings and the time."""

import os
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from mash_plugin import agents
from mash_plugin.chats.index import ChatIndex
from mash_plugin.config import SWITCHES, Settings, Tables, settings_of
from mash_plugin.daemon.clock import now_ms
from mash_plugin.daemon.kept_settings import read_kept, stamp_of
from mash_plugin.errors import MashError
from mash_plugin.memory.call import Call, Caller
from mash_plugin.memory.windows import Windows
from mash_plugin.paths import Paths
from mash_plugin.store import queries
from mash_plugin.store.open import open_chats, open_store
from mash_plugin.store.sessions import HookState

if TYPE_CHECKING:
    from mash_plugin.group.copies import Copies
    from mash_plugin.memory.group_copy import GroupMemory

ROOT_VARIABLES = tuple(agent.ROOT_VARIABLE for agent in agents.AGENTS.values())
"""Where the clients of a call keep their transcripts, if not in their own places."""
PLACES_REMEMBERED = 16
ENDED_REMEMBERED = 256
GROWN_REMEMBERED = 256

_Roots = tuple[Settings, tuple[dict[str, str], ...], list[tuple[str, str]]]
"""Where transcripts may lie, and of which settings and places that was found."""


class Node:
    """Opens the stores of one home and makes a Call of each request."""

    def __init__(self, paths: Paths, now: int, environ: Mapping[str, str]) -> None:
        self.paths = paths
        self.grown: deque[tuple[str, str]] = deque(maxlen=GROWN_REMEMBERED)
        """Transcripts that grew before the background work began."""
        self.ended_sessions: dict[str, None] = {}
        """The last sessions that told of their end."""
        self.on_transcript: Callable[[str, str], None] = lambda *item: self.grown.append(item)
        self.on_hook_state: Callable[[], None] = lambda: None
        self.on_unclean: Callable[[], None] = lambda: None
        self.on_hook_failure: Callable[[str, str], None] = lambda *_: None
        self.on_damaged_record: Callable[[str], None] = lambda _: None
        self.on_group_asked: Callable[[], None] = self._note_group_asked
        self.is_group_asked = False
        """Whether somebody looked for the group's records before the background work began."""
        self._environ = {k: v for k, v in environ.items() if k not in ROOT_VARIABLES}
        self._places: list[dict[str, str]] = [{}]
        self._windows = Windows()
        self._group: Copies | None = None
        self._roots: _Roots | None = None
        self._settings: dict[tuple[object, ...], Settings] = {}
        self._known: Tables | None = None
        """The last settings that could be read: they hold while the file is broken."""
        self.store = open_store(paths, now)
        try:
            self._chats_file = open_chats(paths)
        except BaseException:
            self.store.close()
            raise
        self.chats = ChatIndex(
            self._chats_file,
            self.transcript_roots,
            is_forgotten=self._is_forgotten,
            deny=self._not_indexed,
            keep_since=self._keep_since,
        )
        self.chats.on_rebuilt = self._recheck
        for database in (self.store, self._chats_file):
            database.on_unclean = lambda: self.on_unclean()
        self.hook_state = HookState(self.store, lambda: self.on_hook_state())

    def call(self, caller: Caller, now: int, switches: Mapping[str, str]) -> Call:
        """One request at one moment, under the switches that came with it."""
        self._remember_places(switches)
        settings = self.settings(switches)
        return Call(
            store=self.store,
            chats=self.chats,
            settings=settings,
            now=now,
            new_id=new_id,
            windows=self._windows,
            caller=caller,
            is_live=self.hook_state.is_known,
            on_damaged=self.on_damaged_record,
            group=self._group_memory(settings),
        )

    def own_call(self) -> Call:
        """A request that no client makes: by the daemon or a command, now, as the file says."""
        return self.call(Caller(), now_ms(), {})

    def index_soon(self, agent: str, transcript_path: str) -> None:
        """Queue this transcript for the background index; returns at once."""
        self.on_transcript(agent, transcript_path)

    def session_ended(self, session_id: str) -> None:
        """Note that a session needs no waiting until it is idle."""
        self.ended_sessions[session_id] = None
        if len(self.ended_sessions) > ENDED_REMEMBERED:
            del self.ended_sessions[next(iter(self.ended_sessions))]

    def settings(self, switches: Mapping[str, str]) -> Settings:
        """The settings of now: the file is read again when it has changed."""
        given = {name: switches[name] for name in SWITCHES if name in switches}
        key = (*stamp_of(self.paths.config_file), *sorted(given.items()))
        settings = self._settings.get(key)
        if settings is None:
            if len(self._settings) > 64:
                self._settings.clear()
            settings = self._settings[key] = self._read_settings(given)
        return settings

    def transcript_roots(self) -> list[tuple[str, str]]:
        """Every (agent, folder) that may hold transcripts, as far as hooks have told."""
        settings, places = self.settings({}), tuple(self._places)
        if self._roots is None or self._roots[:2] != (settings, places):
            found: dict[tuple[str, str], None] = {}
            for place in places:
                found |= dict.fromkeys(agents.transcript_roots(settings, self._environ | place))
            self._roots = (settings, places, list(found))
        return self._roots[2]

    @property
    def must_exit(self) -> bool:
        """Whether a file failed in a way that only a new process may look at again."""
        return self.store.must_exit or self._chats_file.must_exit

    def checkpoint(self) -> None:
        """Move both write-ahead logs into their files, as far as readers allow."""
        self.store.checkpoint("PASSIVE")
        self._chats_file.checkpoint("PASSIVE")

    def counts(self) -> dict[str, int]:
        """How much the stores hold."""
        sql = queries.load("status")
        with self.store.reading() as db:
            records, established, candidates = db.all(sql.record_counts)[0]
        with self._chats_file.reading() as db:
            chats, messages = db.all(sql.chat_counts)[0]
        return {
            "records": records,
            "established": established,
            "candidates": candidates,
            "chats": chats,
            "messages": messages,
        }

    def close(self) -> None:
        """Close both files; the last connection leaves no log behind.

        The day's backup is made first if it is due: a first day may be short, and a store
        whose file was deleted meanwhile is still whole in the open connection.
        """
        from mash_plugin.store.backup import daily

        with suppress(MashError):
            daily(self.store, self.paths.backups, now_ms())
        self._chats_file.close()
        self.store.close()

    def group_copies(self) -> "Copies":
        """What was fetched of the group's records."""
        if self._group is None:
            from mash_plugin.group.copies import Copies  # most have no group

            self._group = Copies(self.paths.group, lambda: self.on_group_asked())
        return self._group

    def _note_group_asked(self) -> None:
        self.is_group_asked = True

    def _group_memory(self, settings: Settings) -> "GroupMemory | None":
        if not settings.group_recall or settings.group_dsn_file is None:
            return None
        return self.group_copies().under(settings)

    def _is_forgotten(self, source: str, session_id: str) -> bool:
        from mash_plugin.chats.forget import forgotten_test  # no hook waits for this

        return forgotten_test(self.store)(source, session_id)

    def _recheck(self, chat_id: str) -> None:
        """Judge the citations of a rewritten chat before anything else is answered from it."""
        from mash_plugin.memory.freshness import recheck

        # What fails here is made up for after the next full index.
        with suppress(MashError):
            recheck(self.own_call(), [chat_id])

    def _read_settings(self, switches: Mapping[str, str]) -> Settings:
        tables, problem = read_kept(self.paths.config_file, self.paths.kept_settings)
        if problem is None or self._known is None:
            self._known = tables
        return settings_of(self.paths.config_file, self._known, problem, switches)

    def _not_indexed(self) -> tuple[str, ...]:
        settings = self.settings({})
        # Agents that we start ourselves leave no transcript; one that does is not the person's.
        return (*settings.deny, *settings.no_index, self.paths.reviews)

    def _keep_since(self, now: int) -> int:
        from mash_plugin.chats.retention import keep_since

        return keep_since(self.settings({}).keep_days, now)

    def _remember_places(self, switches: Mapping[str, str]) -> None:
        place = {name: switches[name] for name in ROOT_VARIABLES if switches.get(name)}
        if place not in self._places:
            self._places.append(place)
            del self._places[1:-PLACES_REMEMBERED]


def new_id() -> str:
    """An ID that nothing else has."""
    return os.urandom(16).hex()
