"""One home with a memory, its daemon, and browsers over its dashboard, for all tests here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mash_plugin.daemon.browse import view_chat, view_chats
from mash_plugin.daemon.showings import view_session, view_sessions
from mash_plugin.dashboard.findings import Findings
from mash_plugin.dashboard.place import Place
from mash_plugin.memory import browse, terminal
from mash_plugin.paths import find_paths
from mash_plugin.protocol import commands, validate
from tests.conftest import Memory
from tests.support.browsers import chromium
from tests.support.dashboards import Dashboard, dashboard
from tests.support.demo_memory import Demo, build, fill_buffer, home, run_hooks


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    with home() as found:
        build(found)
        run_hooks(found)
        fill_buffer(found.place)
        yield found


@pytest.fixture(scope="session")
def dash(demo: Demo) -> Iterator[Dashboard]:
    with dashboard(demo.place) as running:
        yield running


@pytest.fixture(scope="session")
def cookie(dash: Dashboard) -> str:
    """The session's one entrance by hand."""
    return dash.enter()


@pytest.fixture(scope="module")  # playwright's loop stands in the way of other tests' own
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = chromium(playwright)
        yield found
        found.close()


def key_of(dash: Dashboard, cookie: str) -> Any:
    """The cookie as a browser takes it."""
    name, _, value = cookie.partition("=")
    return {"name": name, "value": value, "url": dash.base + "/"}


Opener = Callable[..., "Watched"]


@dataclass
class Watched:
    """A page with everything that it did beyond showing itself."""

    page: Page
    base: str
    requests: list[str]
    complaints: list[str]

    def go(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page

    @property
    def leaks(self) -> list[str]:
        """Requests to anywhere else."""
        return [url for url in self.requests if not url.startswith(self.base + "/")]


@contextmanager
def opener(browser: Browser, base: str, key: Any) -> Iterator[Opener]:
    """Opens pages in windows of their own, in which nothing may go wrong unseen."""
    contexts = []

    def open_page(**options: Any) -> Watched:
        context = browser.new_context(**options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        context.add_cookies([key])
        watched = Watched(context.new_page(), base, [], [])
        page = watched.page
        page.on("request", lambda request: watched.requests.append(request.url))
        page.on("dialog", lambda dialog: (watched.complaints.append("dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("console", lambda said: watched.complaints.append(said.text))
        return watched

    try:
        yield open_page
    finally:
        for context in contexts:
            context.close()


@pytest.fixture
def opened(browser: Browser, dash: Dashboard, cookie: str) -> Iterator[Opener]:
    with opener(browser, dash.base, key_of(dash, cookie)) as found:
        yield found


View = Callable[..., dict[str, Any]]
VIEWS = {
    "view_records": browse.view_records,
    "view_days": browse.view_days,
    "view_graph": browse.view_graph,
    "view_chats": view_chats,
    "view_chat": view_chat,
    "view_sessions": view_sessions,
    "view_session": view_session,
    "terminal_show": terminal.show,
}


@pytest.fixture
def view(memory: Memory) -> View:
    """Asks what the pages ask, without a daemon."""

    def ask(method: str, **request: Any) -> dict[str, Any]:
        call = memory.call_now()
        return VIEWS[method](call, validate(method, request, commands.COMMANDS))

    return ask


@pytest.fixture
def pages(view: View, tmp_path: Path) -> Place:
    """What pages are made of, without a daemon."""
    return Place(
        lambda method, request: view(method, **request),
        Findings(list),
        find_paths({"MASH_HOME": str(tmp_path)}),
    )
