"""One session as its hooks have seen it, and the rows that keep it."""

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Literal, NamedTuple

from mash_plugin.store import queries
from mash_plugin.store.sqlite import Connection, Params

if TYPE_CHECKING:
    from threading import Event

LONG_AGO = 0
"""When a block without its records was shown: to a resume, all of them are new."""
AWAY_MS = 30 * 60_000
"""A session that was quiet for so long before this daemon's first hook has been resumed since."""
MOST_SHOWN = 5_000
"""What one context can have been shown with files; a compaction begins anew."""
CHAT, GROUP = "chat:", "group:"
NOTED_AT_START, NOTED_WITH_PROMPT = "note:start", "note:prompt"
"""The saving note among what was shown."""
Shown = tuple[str, str, str]
"""(reader, path, ID of a record, `chat:ID`, `group:NODE/ID` or one of the saving notes)"""

_sql = queries.load("sessions")


class SessionState:
    """One session as its hooks have seen it; times in Unix ms."""

    def __init__(self, agent: str, first_seen_at: int, last_activity_at: int) -> None:
        self.agent = agent
        self.first_seen_at = first_seen_at
        self.last_activity_at = last_activity_at
        self.last_reminder_at: int | None = None
        self.last_full_block_at: int | None = None
        self.project: str | None = None
        self.shown_sources: set[str] = set()
        self.shown: dict[Shown, int] = {}
        self.unsaved_shown: dict[Shown, int] = {}
        self.unsaved_dropped: dict[Shown, int] = {}
        self.unsaved_lost: set[tuple[Shown, int]] = set()
        """What was saved as shown, and then turned out never to have arrived."""
        self.told_to_cite_by: Literal["start", "prompt"] | None = None
        """Which note of this context said how; a new daemon says it once more."""
        self.shown_since_prompt: set[str] = set()
        """IDs that starts have shown while no prompt came, and the name of the saving note."""
        self.forgot_shown = False
        """A compaction emptied `shown`; the saved rows must tell so."""
        self.owed: str | None = None
        """The source of a start of which something never arrived; the next prompt brings it."""
        self.has_ended = False
        """The agent told its end, and nothing came after it; only this daemon knows."""
        self.start_under_way: Event | None = None
        """Set once it is known whether the newest start's answer arrived."""

    def show(self, reader: str, path: str, ids: Iterable[str], now: int) -> set[str]:
        """Those IDs that this reader has not yet seen with this file; they count as shown now.

        None, once the context was shown as much as is remembered of it.
        """
        if len(self.shown) >= MOST_SHOWN:
            return set()
        new = {i for i in ids if (reader, path, i) not in self.shown}
        shown = {(reader, path, i): now for i in new}
        self.shown |= shown
        self.unsaved_shown |= shown
        return new

    def note_shown(self, ids: Iterable[str], now: int) -> None:
        """Count these as shown to the session's own agent, however often."""
        shown = {("", "", i): now for i in ids}
        self.shown |= shown
        self.unsaved_shown |= shown

    def take_back(self, reader: str, path: str, ids: Iterable[str], at: int) -> None:
        """Let IDs that counted as shown since `at` not count."""
        for shown in ((reader, path, i) for i in ids):
            self.shown.pop(shown, None)
            if self.unsaved_shown.get(shown) == at:
                del self.unsaved_shown[shown]
            else:
                self.unsaved_lost.add((shown, at))

    def drop_shown(self) -> None:
        """Let all that was shown be shown again: it is in the context no more."""
        self.shown.clear()
        self.unsaved_dropped |= self.unsaved_shown
        self.unsaved_shown = {}
        self.forgot_shown = True

    def forget_chats(self, names: Set[str]) -> None:
        """Let nothing be written of these chats, as `chat:ID`."""
        for unsaved in (self.unsaved_shown, self.unsaved_dropped):
            for shown in [s for s in unsaved if s[2] in names]:
                del unsaved[shown]

    def missed_start(self, began_at: int) -> str | None:
        """The source of the start that it had while no daemon saw it, as far as it tells.

        `began_at`: when the first hook of this daemon came.
        """
        if self.last_full_block_at is None:
            return "startup"
        is_quiet = self.last_activity_at < began_at - AWAY_MS
        return "resume" if is_quiet or self.last_full_block_at == LONG_AGO else None

    def chats_with_files(self, reader: str) -> set[str]:
        """The chats, as `chat:ID`, that this reader was shown with any file."""
        return {i for r, path, i in self.shown if path and r == reader and i.startswith(CHAT)}

    def records_in_context(self) -> frozenset[str]:
        """The records that the session's own agent was shown and has not compacted away."""
        return frozenset(i for reader, _, i in self.shown if not reader and ":" not in i)

    def records_at(self, reader: str, path: str) -> int | None:
        """When this reader was last shown records with this file; None when it was not yet."""
        times = (
            at
            for (r, p, i), at in self.shown.items()
            if (r, p) == (reader, path) and not i.startswith(CHAT)
        )
        return max(times, default=None)


class SessionRow(NamedTuple):
    """A session as the store knows it."""

    session_id: str
    agent: str
    project: str | None
    first_seen_at: int
    last_activity_at: int
    last_reminder_at: int | None


def load_session(db: Connection, session_id: str) -> SessionState | None:
    """The state as it was written last; None for a session that is not known."""
    row = db.one(_sql.get_session, {"session_id": session_id})
    if row is None:
        return None
    agent, first, last, reminder, block, sources, project = row
    session = SessionState(agent, first, last)
    session.last_reminder_at, session.last_full_block_at = reminder, block
    session.project = project
    session.shown_sources = set(sources.split())
    shown = db.all(_sql.list_shown, {"session_id": session_id})
    session.shown = {(r, p, i): at for r, p, i, at in shown}
    return session


def find_sessions(
    db: Connection, beginning: str | None, project: str | None, count: int
) -> list[SessionRow]:
    """The newest sessions, those alone whose ID begins so or that ran in that project."""
    wanted = {"beginning": beginning, "project": project, "count": count}
    return [SessionRow(*row) for row in db.all(_sql.find_sessions, wanted)]


class Unsaved(NamedTuple):
    """What of a session is to be written next."""

    session_id: str
    row: dict[str, object]
    shown: dict[Shown, int]
    dropped: dict[Shown, int]
    lost: set[tuple[Shown, int]]
    forgot_shown: bool


def take_unsaved(session_id: str, session: SessionState) -> Unsaved:
    """Take what changed since the last time out of the state."""
    row: dict[str, object] = {
        "session_id": session_id,
        "agent": session.agent,
        "first_seen_at": session.first_seen_at,
        "last_activity_at": session.last_activity_at,
        "last_reminder_at": session.last_reminder_at,
        "last_full_block_at": session.last_full_block_at,
        "shown_sources": " ".join(sorted(session.shown_sources)),
        "project": session.project,
    }
    unsaved = Unsaved(
        session_id,
        row,
        session.unsaved_shown,
        session.unsaved_dropped,
        session.unsaved_lost,
        session.forgot_shown,
    )
    session.unsaved_shown, session.unsaved_dropped, session.unsaved_lost = {}, {}, set()
    session.forgot_shown = False
    return unsaved


def put_back(session: SessionState, unsaved: Unsaved) -> None:
    """Give back what could not be written; what came meanwhile is newer."""
    if session.forgot_shown:
        session.unsaved_dropped |= unsaved.shown
    else:
        session.unsaved_shown = unsaved.shown | session.unsaved_shown
    session.unsaved_dropped |= unsaved.dropped
    session.unsaved_lost |= unsaved.lost
    session.forgot_shown |= unsaved.forgot_shown


def write_unsaved(db: Connection, unsaved: Unsaved) -> None:
    """Write it, inside a transaction."""
    db.run(_sql.put_session, unsaved.row)
    if unsaved.forgot_shown:
        db.run(_sql.drop_shown, {"session_id": unsaved.session_id})
    lost = [_row(unsaved.session_id, shown, at) for shown, at in unsaved.lost]
    db.run_many(_sql.delete_shown, lost)
    rows: list[Params] = [
        _row(unsaved.session_id, shown, at, in_context=in_context)
        for in_context, some in ((0, unsaved.dropped), (1, unsaved.shown))
        for shown, at in some.items()
    ]
    db.run_many(_sql.put_shown, rows)


def _row(session_id: str, shown: Shown, at: int, in_context: int = 1) -> Params:
    reader, path, shown_id = shown
    return {
        "session_id": session_id,
        "reader": reader,
        "path": path,
        "shown_id": shown_id,
        "shown_at": at,
        "in_context": in_context,
    }
