"""One server for all tests of groups, and a group of its own for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.groups import Group, Server, running_group, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that answers on a socket."""
    with running_server() as server:
        yield server


@pytest.fixture
def group(postgres: Server, tmp_path: Path) -> Iterator[Group]:
    """A group of anna and bob, who may write."""
    with running_group(postgres, tmp_path / "group", "anna", "bob") as group:
        yield group
