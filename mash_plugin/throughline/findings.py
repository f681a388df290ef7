"""What one check of a workspace found."""

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    severity: Literal["ok", "note", "warning", "error"]
    what: str
    next: str = ""
    """What helps."""
