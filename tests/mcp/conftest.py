"""A home with a daemon, and servers of its tools."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.mcp_servers import Server
from tests.support.processes import end_processes_of


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    root = tmp_path_factory.mktemp("mcp")
    (root / "home").mkdir()
    yield {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "home"),
        "MASH_HOME": str(root / "mash"),
        "MASH_TESTING": "1",
    }
    end_processes_of(root / "mash")


@pytest.fixture
def open_server(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Server]]:
    opened: list[Server] = []

    def open_one() -> Server:
        opened.append(Server(environment, tmp_path))
        return opened[-1]

    yield open_one
    for server in opened:
        server.end()


@pytest.fixture(scope="module")
def server(
    environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One server for many tests, that has shaken hands as Codex does."""
    made = Server(environment, tmp_path_factory.mktemp("project"))
    made.shake_hands("2025-06-18", "codex-mcp-client")
    yield made
    made.end()
