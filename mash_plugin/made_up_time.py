"""The time that a test makes up, for the daemon and for the commands that need none."""

LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: no date can be told beyond it."""


def made_up_ms(value: str) -> int | None:
    """Unix ms of a number, or of @FILE that holds one; None for what no date can be told of."""
    try:
        if value.startswith("@"):
            with open(value[1:], encoding="ascii") as file:
                value = file.read(32)
        made_up = int(value.strip())
    except (OSError, ValueError):
        return None
    return made_up if 0 <= made_up <= LATEST_MS else None
