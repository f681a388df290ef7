"""The time of a command: the wall clock, or in tests the time that the environment gives."""

import time
from collections.abc import Mapping

from mash_plugin.made_up_time import LATEST_MS, made_up_ms
from mash_plugin.paths import obeys_tests


def now_ms(environ: Mapping[str, str]) -> int:
    """Unix milliseconds; in a checkout under MASH_TESTING=1 those of MM_TEST_NOW_MS.

    That is a number or @FILE.
    """
    value = environ.get("MM_TEST_NOW_MS")
    if value and environ.get("MASH_TESTING") == "1" and obeys_tests():
        made_up = made_up_ms(value)
        if made_up is not None:
            return made_up
    return min(max(time.time_ns() // 1_000_000, 0), LATEST_MS)


def date_of(moment_ms: int) -> str:
    """The date in UTC, wherever the machine stands."""
    year, month, day = time.gmtime(moment_ms // 1000)[:3]
    return f"{year:04}-{month:02}-{day:02}"


def utc(moment_ms: int) -> str:
    """The moment in UTC, to the second, as ISO 8601 writes it."""
    year, month, day, hour, minute, second = time.gmtime(moment_ms // 1000)[:6]
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
