from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemons import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home without a daemon; whatever comes up there is ended."""
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def own_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process starts is started in the home of the test."""
    for name, value in place.environment.items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
