from collections.abc import Iterator

import pytest

from tests.support.daemons import Place


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home whose daemon runs."""
    made = Place(tmp_path_factory.mktemp("served"))
    made.start()
    yield made
    made.close()
