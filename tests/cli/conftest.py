"""One set-up home without agents for many commands, and fresh ones where a test breaks things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import Home
from tests.support.processes import end_processes_of

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "person", NOWHERE, NOWHERE)
    yield made
    end_processes_of(made.root)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("person"), NOWHERE, NOWHERE)
    made.mash("init", "--yes", "--no-agents", "--no-index")
    yield made
    end_processes_of(made.root)
