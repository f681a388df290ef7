"""One call of a hook: what it may do, what it has found, and what counts as shown by it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from mash_plugin.agents.hook_event import HookEvent
from mash_plugin.chats.project import Project
from mash_plugin.daemon import hook_parts as parts
from mash_plugin.daemon.delivery import Undo
from mash_plugin.daemon.lanes import Part
from mash_plugin.daemon.log import place_of
from mash_plugin.memory.call import Call, Caller
from mash_plugin.render import context
from mash_plugin.store.session_rows import CHAT, GROUP, SessionState
from mash_plugin.store.sessions import HookState

if TYPE_CHECKING:  # a hook's first answer needs no transcripts
    from mash_plugin.agents.events import HookedAgent
else:
    HookedAgent = object  # not quoted below: see `memory.call`

T = TypeVar("T")


class HookNode(Protocol):
    """What the hooks need of the daemon's node."""

    hook_state: HookState
    """`HookState(store, on_change)`; a worker calls its `flush(now)` soon after `on_change`."""

    def call(self, caller: Caller, now: int, switches: Mapping[str, str]) -> Call: ...

    on_hook_failure: Callable[[str, str], None]
    """Logs which part of which hook's answer is missing, without content."""

    def index_soon(self, agent: str, transcript_path: str) -> None:
        """Queue this transcript for the background index; returns at once."""
        ...

    def session_ended(self, session_id: str) -> None: ...

    def transcript_roots(self) -> list[tuple[str, str]]: ...


class Hook(NamedTuple):
    """One hook call with what it may do."""

    node: HookNode
    host: HookedAgent
    event: HookEvent
    call: Call
    session: SessionState
    project: Project | None
    may_capture: bool
    may_recall: bool
    may_group: bool
    """Whether what others of the group established may stand beside the person's own."""
    until: float
    """`time.monotonic()` at which the answer leaves with what it has."""
    patient_until: float
    """Until when the chats wait for slow records."""
    undo: Undo

    @property
    def scope(self) -> dict[str, str]:
        """What a record of this session takes, as the tool wants it written.

        Where there is no project, what the person says is about how they work anywhere.
        """
        return self.project.scope.as_json() if self.project else parts.PERSONAL_SCOPE

    @property
    def branch(self) -> parts.Branch:
        return parts.branch_of(
            self.project,
            lambda failure: self.node.on_hook_failure(self.event.name, f"branch:{failure}"),
        )

    def find(self, records: Sequence[Part[Any]], chats: Part[Any] | None) -> None:
        """Set to work on these parts."""
        parts.find(records, chats, self.patient_until)

    def take(self, part: Part[T] | None) -> T | None:
        """What this part found, unless it failed or is late: the other parts go without it."""
        if part is None:
            return None
        value = part.value(self.until)
        if value is None:
            self.node.on_hook_failure(
                self.event.name, place_of(part.error) if part.error else "late"
            )
        return value

    def noted(
        self,
        records: parts.Records,
        chats: list[context.ChatHint],
        text: str,
        group: context.FromGroup = context.NOTHING_SHARED,
    ) -> str:
        """The text; what of these stands in it counts as shown to the session (`mash log`)."""
        ids = [r["id"] for r in records if r["id"] in text]
        ids += [f"{CHAT}{c.id}" for c in chats if c.id in text]
        ids += [shown_as(r) for r in group.records if r["id"] in text]
        if ids:
            self.note(ids)
            self.session.shown_since_prompt.update(ids)
        return text

    def note(self, ids: list[str]) -> None:
        """Let these count as shown to the session, for the person who asks what it saw."""
        state, session_id = self.node.hook_state, self.event.session_id
        state.note_shown(session_id, ids, self.call.now)
        self.undo.append(partial(state.take_back, session_id, "", "", ids, self.call.now))

    def chats_shown_with_files(self) -> set[str]:
        """The chats that were named to this reader with some file, as they are noted."""
        state, session_id = self.node.hook_state, self.event.session_id
        return state.chats_shown_with_files(session_id, self.event.agent_id or "")

    def claim(self, path: str, ids: list[str]) -> set[str]:
        """What of these its reader has not yet seen with this file; it counts as shown now."""
        state, session_id, reader = self.node.hook_state, self.event.session_id, self.event.agent_id
        now = self.call.now
        new = state.claim_shown(session_id, reader or "", path, ids, now)
        self.undo.append(partial(state.take_back, session_id, reader or "", path, new, now))
        return new


def shown_as(record: Mapping[str, Any]) -> str:
    """The name of a group's record among the IDs of what was shown."""
    return f"{GROUP}{record['node_id']}/{record['id']}"
