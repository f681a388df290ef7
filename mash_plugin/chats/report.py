"""What an index run tells of itself."""

from typing import NamedTuple


class Progress(NamedTuple):
    """How far a full index has come."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int


class IndexReport(NamedTuple):
    """What an index run found."""

    files: int = 0
    new_messages: int = 0
    bytes_read: int = 0
    bytes_skipped: int = 0
    """Bytes of tool output and of over-long lines that were not kept."""
    lines_skipped: int = 0
    refused: int = 0
    """Files that could not be opened: compressed, someone else's, not ordinary."""
    rewritten: tuple[str, ...] = ()
    """Chats whose earlier messages were read again: their evidence is to be checked."""
