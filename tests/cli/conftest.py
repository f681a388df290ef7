"""One set-up home without agents for many commands, and fresh ones where a test breaks things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.homes import Home, person
from tests.support.saved import begin, save


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Home]:
    with person(tmp_path / "person") as made:
        yield made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with person(tmp_path_factory.mktemp("person")) as made:
        made.mash("init", "--yes", "--no-agents", "--no-index")
        yield made


@pytest.fixture
def told(fresh: Home) -> Home:
    """A home with one chat and one record that rests on it."""
    begin(fresh)
    save(fresh, "established", "Invoices are rendered with Typst.")
    return fresh
