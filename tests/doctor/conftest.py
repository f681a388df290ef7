"""A person whose memory something happens to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import Home
from tests.support.processes import end_processes_of
from tests.support.saved import begin, save

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Set up, with no agent on PATH: most faults have nothing to do with them."""
    made = Home(tmp_path / "person", NOWHERE, NOWHERE)
    with_clients = made.environment["PATH"]
    made.environment["PATH"] = f"{with_clients.split(':')[0]}:/usr/bin:/bin"
    made.mash("init", "--yes", "--no-agents", "--no-index")
    yield made
    end_processes_of(made.root)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Home]:
    """With both real clients, and nothing of mash yet."""
    made = Home(tmp_path / "person", NOWHERE, NOWHERE)
    yield made
    end_processes_of(made.root)


@pytest.fixture
def kept(home: Home) -> Home:
    """With one chat and one record of it."""
    begin(home)
    save(home, "established", "We render invoices with Typst.")
    return home
