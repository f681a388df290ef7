"""A store of the workspace that was lost or is damaged: how that is seen, and the way out of it."""

import os
from contextlib import suppress

from mash_plugin.errors import StoreDamaged
from mash_plugin.throughline import marks, queue, stored
from mash_plugin.throughline.backend import Database
from mash_plugin.throughline.clock import utc
from mash_plugin.throughline.settings import Settings

_WITH_IT = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file belongs to it, and to no new one."""


def lost_store(settings: Settings) -> str:
    """What to say where sessions were stored in a file that is gone; "" where none is."""
    workspace = settings.workspace
    if settings.backend != "file" or marks.store_of(workspace):
        return ""
    noted = len(stored.noted_in_file(workspace))
    if not noted:
        return ""
    return (
        f"The store {os.path.join(workspace, marks.STORE_FILE)} is gone; {noted} session(s) were"
        " stored in it. Put it back from a copy of yours, or capture again what you still have."
    )


def damage(db: Database) -> str:
    """What is wrong inside a store that could be opened; "" if nothing is. Reads all of it."""
    from mash_plugin.throughline.database import way_out

    try:
        found = db.one("PRAGMA quick_check(1)", {})
    except StoreDamaged as error:
        return error.message
    if found == ("ok",):
        return ""
    return f"{db.place} is damaged ({found and found[0]}). {way_out(db.place)}"


def set_aside_if_damaged(settings: Settings, now: int) -> str:
    """Rename a damaged store, which the next drain makes anew; what was done, in words."""
    from mash_plugin.throughline.one_drain import only_one

    if settings.backend != "file":
        return "Nothing was changed: only a store of the workspace itself can be set aside."
    if not os.path.isdir(settings.workspace):
        return "Nothing was changed: there is no workspace."
    with only_one(settings.workspace, "nothing was changed"):
        if not _is_damaged(settings):
            return "Nothing was changed: the store is not damaged."
        place = os.path.join(settings.workspace, marks.STORE_FILE)
        aside = f"{place}.damaged-{utc(now).replace(':', '')}"
        with queue.told(place, "nothing was changed"):
            os.rename(place, aside)
            for ending in _WITH_IT:
                with suppress(FileNotFoundError):
                    os.rename(place + ending, aside + ending)
        stored.take_back_all_of_file(settings.workspace)
    return (
        f"The damaged store is {aside} now; delete it when nobody needs it. The next drain makes"
        " a new one: capture again what you still have."
    )


def _is_damaged(settings: Settings) -> bool:
    from mash_plugin.throughline.store import open_database

    try:
        db = open_database(settings, to_write=False)
    except StoreDamaged:
        return True
    try:
        return bool(damage(db))
    finally:
        db.close()
