"""Find what the group holds of this node's records otherwise than it should."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mash_plugin.group.publication import Copy, Rules
from mash_plugin.group.session import SQL_FOLDER
from mash_plugin.memory.call import Call
from mash_plugin.store import publication
from mash_plugin.store.queries import load
from mash_plugin.store.sqlite import Connection

if TYPE_CHECKING:
    from mash_plugin.group.database import GroupDatabase

PAGE = 250
SQL = load("publication", SQL_FOLDER)


def compare(db: "GroupDatabase", call: Call, node_id: str, should_stop: Callable[[], bool]) -> None:
    """Let all records wait of which the group holds something else than it should."""
    with call.store.writing() as local:
        publication.retry_set_aside(local)
    after, is_done = "", False
    while not is_done and not should_stop():
        page = {"node_id": node_id, "after": after, "count": PAGE}
        there = {str(record): str(digest) for record, digest in db.all(SQL.digests, page)}
        with call.store.reading() as local:
            ids = publication.ids_after(local, after, PAGE)
            # Both pages count as far as the one that ends first.
            ends = [max(full) for full in (ids, there) if len(full) == PAGE]
            after, is_done = min(ends, default=""), not ends
            rules = Rules(call, local)
            asked = [one for one in ids if is_done or one <= after]
            differing = [one for one in asked if _differs(rules, local, one, there.get(one))]
        gone = there.keys() - set(asked)
        differing += [one for one in gone if is_done or one <= after]
        if differing:
            with call.store.writing() as local:
                publication.queue(local, differing, call.now)


def _differs(rules: Rules, local: Connection, record_id: str, there: str | None) -> bool:
    """Whether the group holds something else of a record than it should, or may."""
    if there is None:
        # Also of what is withheld for its texts, so that the status tells of it.
        return rules.is_wanted(local, record_id)
    let_others_run()
    found = rules.copy_of(local, record_id)
    return not isinstance(found, Copy) or found.digest != there


def let_others_run() -> None:
    """Hand on the interpreter, which a hook's answer would else wait for, 5 ms at a time."""
    time.sleep(0)
