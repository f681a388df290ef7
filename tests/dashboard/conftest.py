"""One home with a memory, its daemon, and browsers over its dashboard, for all tests here."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.browsers import chromium
from tests.support.daemons import Place
from tests.support.dashboards import Dashboard, Demo, build, dashboard

Json = dict[str, Any]


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = chromium(playwright)
        yield found
        found.close()


@pytest.fixture(scope="session")
def key(dash: Dashboard, cookie: str) -> Json:
    """The cookie as a browser takes it."""
    name, _, value = cookie.partition("=")
    return {"name": name, "value": value, "url": dash.origin}


Opener = Callable[..., "Watched"]


@dataclass
class Watched:
    """A page with everything that it did beyond showing itself."""

    page: Page
    origin: str
    requests: list[str]
    complaints: list[str]

    def go(self, path: str) -> Page:
        self.page.goto(self.origin + path)
        return self.page

    @property
    def leaks(self) -> list[str]:
        """Requests to anywhere else."""
        return [url for url in self.requests if not url.startswith(self.origin + "/")]


@pytest.fixture
def opened(browser: Browser, dash: Dashboard, key: Json) -> Iterator[Opener]:
    """Opens pages in windows of their own, in which nothing may go wrong unseen."""
    contexts = []

    def open_page(**options: Any) -> Watched:
        context = browser.new_context(**options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        context.add_cookies([key])
        watched = Watched(context.new_page(), dash.origin, [], [])
        page = watched.page
        page.on("request", lambda request: watched.requests.append(request.url))
        page.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("console", lambda said: watched.complaints.append(said.text))
        return watched

    yield open_page
    for context in contexts:
        context.close()
