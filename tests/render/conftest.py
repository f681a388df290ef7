"""The texts are compared as they read one hour east of Greenwich."""

import time
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture(autouse=True)
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Move the process to a time zone (the TZ of POSIX); it begins in one of +01:00."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    move("CET-1")
    yield move
    monkeypatch.undo()
    time.tzset()
