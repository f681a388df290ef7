"""Remove a record whole, or hide it for a day where the person has not spoken (R-052, R-065)."""

import os

from mash_plugin.memory.call import Call
from mash_plugin.store.changes import hidden_records, remove_record
from mash_plugin.store.forgotten import scrub_deleted

SCRUBBED_AT_ONCE = 32 * 1024 * 1024
"""A larger store takes longer than a caller should wait, and many removals need it only once."""
KEEP_HIDDEN_MS = 86_400_000
"""How long the person can take an agent's forget back (`mash undo`)."""


def after_removal(call: Call) -> None:
    """Let no byte of the text stay in the file or its log, once its removal is committed.

    What cannot be done now is noted in the store and done in the background, a second later.
    """
    try:
        is_small = os.path.getsize(call.store.path) <= SCRUBBED_AT_ONCE
    except OSError:
        is_small = False
    if is_small:
        scrub_deleted(call.store)
    else:
        call.store.on_unclean()


def purge_hidden(call: Call) -> list[str]:
    """Remove what was hidden a day ago; the IDs."""
    with call.store.reading() as db:
        due = hidden_records(db, call.now - KEEP_HIDDEN_MS)
    if not due:
        return []
    with call.store.writing(may_use_reserve=True) as db:
        due = hidden_records(db, call.now - KEEP_HIDDEN_MS)  # one may have been brought back
        for hidden in due:
            # The time that was promised, by which `mash log` finds who asked.
            remove_record(db, hidden.record_id, hidden.hidden_at + KEEP_HIDDEN_MS)
    after_removal(call)
    return [hidden.record_id for hidden in due]
