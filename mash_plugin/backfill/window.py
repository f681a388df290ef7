"""Where the window of chats begins: fixed once, so that a later run goes on with the same one."""

import tomlkit

from mash_plugin.config import read_tables
from mash_plugin.errors import InvalidArgument
from mash_plugin.paths import Paths
from mash_plugin.settings_file import Table, edit_settings, subtable

WINDOW_MS = 3 * 24 * 3600 * 1000
KEY = "backfill_since"
COMMENT = "where `mash backfill` begins, Unix milliseconds; delete the line to begin 3 days ago"


def saved_since(paths: Paths, now: int) -> int:
    """The moment that was kept, else three days ago. Raises InvalidArgument for a broken file."""
    tables, problem = read_tables(paths.config_file)
    if problem:
        raise InvalidArgument(f"The configuration cannot be read: {problem}. Correct or move it.")
    records = (tables or {}).get("records")
    kept = records.get(KEY) if isinstance(records, dict) else None
    is_moment = isinstance(kept, int) and not isinstance(kept, bool) and kept >= 0
    return kept if is_moment and isinstance(kept, int) else now - WINDOW_MS


def keep_since(paths: Paths, now: int) -> int:
    """The same, noted in config.toml if it was not there; every other line is kept."""
    since = saved_since(paths, now)

    def keep(document: Table) -> None:
        records = subtable(document, "records")
        if records.get(KEY) != since:
            records[KEY] = tomlkit.item(since).comment(COMMENT)

    edit_settings(paths.config_file, keep)
    return since
