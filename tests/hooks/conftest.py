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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home whose daemon runs."""
    made = Place(tmp_path_factory.mktemp("served"))
    made.start()
    yield made
    made.close()
