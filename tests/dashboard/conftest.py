"""One home with a memory, its daemon, and browsers over its dashboard, for all tests here."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemons import Place
from tests.support.dashboards import Dashboard, Demo, build, dashboard


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.environment["CLAUDE_CONFIG_DIR"] = str(place.home / ".claude")
        (place.home / ".claude" / "projects").mkdir(parents=True)
        try:
            place.start(CLAUDE_CONFIG_DIR=str(place.home / ".claude"))
            yield build(place)
        finally:
            place.close()


@pytest.fixture(scope="session")
def dash(demo: Demo) -> Iterator[Dashboard]:
    with dashboard(demo.place) as running:
        yield running


@pytest.fixture(scope="session")
def cookie(dash: Dashboard) -> str:
    """The session's one entrance by hand."""
    return dash.enter()
