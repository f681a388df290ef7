"""Make sure that a transaction whose COMMIT met a full disk will not be there after a crash.

SQLite leaves its frames in the log. The last one could not be written, yet it counts as whole
when the bytes that lie there, of an earlier round of the log, happen to be the same page.
"""

import os

import apsw

_LOG_HEADER, _FRAME_HEADER, _PAGE = 32, 24, 4096


def is_undone(raw: apsw.Connection, frames: int | None) -> bool:
    """Whether nothing of the transaction can come back; `frames` were committed before it.

    None stands for a log that may have begun a new round since.
    """
    return _overwrite(raw) or _ends_with(raw, frames)


def _overwrite(raw: apsw.Connection) -> bool:
    """Commit one frame over the transaction's first: it is there already, so it takes no room."""
    try:
        raw.execute("BEGIN IMMEDIATE")
        (number,) = next(iter(raw.execute("PRAGMA user_version")))
        raw.execute(f"PRAGMA user_version = {number}")
        raw.execute("COMMIT")
    except apsw.Error:
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        return False
    return True


def _ends_with(raw: apsw.Connection, frames: int | None) -> bool:
    """Whether the log holds no whole frame beyond those."""
    if frames is None:
        return False
    try:
        size = os.stat(raw.filename_wal).st_size
    except OSError:
        return False
    return size < _LOG_HEADER + (frames + 1) * (_FRAME_HEADER + _PAGE)
