"""Waiting for something that another process does, with a generous ceiling."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(
    look: Callable[[], T], what: str, timeout_s: float = 240, every_s: float = 0.05
) -> T:
    """The first truthy result of looking again and again; raises TimeoutError."""
    end = time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"after {timeout_s} s: {what}")
        time.sleep(every_s)
