"""Earlier chats that mention a file, by the full-text index; kept while the index stays the same.

Agents that work side by side read the same files again and again.
"""

from typing import NamedTuple

from mash_plugin.chats.project import Project
from mash_plugin.chats.reading import Chat, as_chat
from mash_plugin.records.files import mentions_path
from mash_plugin.store.chats import SQL, quoted
from mash_plugin.store.sqlite import Connection, Database
from mash_plugin.tokens import index_text

PATH_CHARS = 4_000
HITS, CANDIDATES, FEW_MENTIONS = 5_000, 400, 2
KEPT = 256
"""Files in memory: a few hundred bytes each."""


class Mention(NamedTuple):
    """One chat that names a file."""

    chat: Chat
    is_by_person: bool
    is_repeated: bool


class Mentions:
    """What was found for the files that were asked for last."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[tuple[Project, str, int], tuple[int, list[Mention]]] = {}

    def chats(
        self, project: Project, path: str, limit: int, exclude_session: str | None
    ) -> list[Chat]:
        """The newest chats of a project whose words name this file as a whole path.

        Of twice as many of the newest, those where the person named it come first, then those
        that name it more than once, then the newest.
        """
        key, commits = (project, path, limit), self._database.commits
        kept = self._kept.get(key)
        if kept is None or kept[0] != commits:
            # Counted before it is read: what is committed meanwhile is looked at again.
            with self._database.reading() as db:
                kept = (commits, _mentions(db, project, path, 2 * limit + 1))
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[key] = kept
        return _best(kept[1], limit, exclude_session)


def _best(found: list[Mention], limit: int, exclude_session: str | None) -> list[Chat]:
    others = [m for m in found if m.chat.session_id != exclude_session][: 2 * limit]
    others.sort(key=lambda m: (not m.is_by_person, not m.is_repeated))
    return [m.chat for m in others[:limit]]


def _mentions(db: Connection, project: Project, path: str, most: int) -> list[Mention]:
    """The newest chats that name the file, the newest first."""
    phrase = index_text(path)
    if not phrase or len(path) > PATH_CHARS:
        return []
    keys = {
        "match": quoted(phrase),
        "repository": project.identity,
        "project_path": None if project.identity else project.place,
        "hits": HITS,
        "limit": CANDIDATES,
    }
    absolute = f"{project.root.rstrip('/')}/{path}"
    found: dict[int, Chat] = {}
    named: dict[int, int] = {}
    by_person: set[int] = set()
    for text, is_persons, *chat in db.each(SQL.mentions, keys):  # the newest chats first
        number = chat[-1]
        if len(found) == most and number not in found:
            break
        tells = named.get(number, 0) < FEW_MENTIONS or (is_persons and number not in by_person)
        if tells and (mentions_path(text, path) or mentions_path(text, absolute)):
            found.setdefault(number, as_chat(tuple(chat)))
            named[number] = named.get(number, 0) + 1
            if is_persons:
                by_person.add(number)
    return [
        Mention(chat, number in by_person, named[number] >= FEW_MENTIONS)
        for number, chat in found.items()
    ]
