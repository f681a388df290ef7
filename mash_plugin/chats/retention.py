"""Drop chats from the index that nobody has gone on with for as long as the person keeps them.

Records stay: each keeps the text that it cites. The transcript stays too, with its agent; it is
read again, whole, when the chat goes on.
"""

from mash_plugin.store.chats import SQL, delete_chats
from mash_plugin.store.sqlite import Database

DAY_MS = 24 * 60 * 60 * 1000
CHATS_AT_ONCE = 20
"""A citing call never waits for the whole."""


def keep_since(keep_days: int | None, now: int) -> int:
    """Chats whose last word is older are not kept; 0 where all are."""
    return 0 if keep_days is None else max(0, now - keep_days * DAY_MS)


def drop_old(index: Database, since: int) -> int:
    """Drop the chats that ended before; how many. The background work scrubs their text."""
    dropped = 0
    while since:
        with index.reading() as db:
            rows = db.all(SQL.chats_ended_before, {"since": since, "limit": CHATS_AT_ONCE})
        if not rows:
            break
        with index.writing(may_use_reserve=True) as db:
            delete_chats(db, [number for (number,) in rows])
        dropped += len(rows)
    if dropped:
        index.on_unclean()
    return dropped
