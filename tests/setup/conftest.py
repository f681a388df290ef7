"""A person with both real clients and nothing of mash yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import Home
from tests.support.processes import end_processes_of

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "person", NOWHERE, NOWHERE)
    yield made
    end_processes_of(made.root)
