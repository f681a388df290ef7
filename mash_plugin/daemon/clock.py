"""The time of a request: the wall clock, or in tests the time that the request carries."""

import os
import time

from mash_plugin.made_up_time import made_up_ms


def is_testing() -> bool:
    """Whether this daemon was started for tests: only then is a made-up time obeyed."""
    return os.environ.get("MASH_TESTING") == "1"


def now_ms(forwarded: str | None = None) -> int:
    """Unix milliseconds. In tests the request's MASH_TEST_NOW_MS wins, then the daemon's own.

    The value is a number, or @FILE that holds one and is read each time; what is no time that
    can be stored and told is ignored.
    """
    if is_testing():
        for value in (forwarded, os.environ.get("MASH_TEST_NOW_MS")):
            made_up = made_up_ms(value) if value else None
            if made_up is not None:
                return made_up
    return time.time_ns() // 1_000_000
