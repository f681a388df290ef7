"""Lengths of time as people type them: 30m, 2h, 3d, 1w."""

import re

UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LENGTH = re.compile(rf"([0-9]{{1,6}})\s*([{''.join(UNITS_MS)}])")


def length_ms(text: str) -> int | None:
    """The milliseconds of a length of time; None for what is none."""
    found = _LENGTH.fullmatch(text.strip().lower())
    return int(found[1]) * UNITS_MS[found[2]] if found else None
