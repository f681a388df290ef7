"""axe-core finds nothing serious on any page, in light and in dark."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.dashboard.conftest import Watched, key_of, opener
from tests.dashboard.test_pages import PAGES, paths
from tests.support.daemons import ROOT
from tests.support.dashboards import Dashboard
from tests.support.demo_memory import Demo

AXE = Path(
    os.environ.get("MASH_TEST_AXE")
    or ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
)
RUN = """async (options) => (await axe.run(document, {resultTypes: ["violations"], ...options}))
  .violations.filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 120)).join(" | "))"""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.fixture(scope="module")
def window(browser: Browser, dash: Dashboard, cookie: str) -> Iterator[Watched]:
    """One for all pages: to open another for each takes three times as long."""
    with opener(browser, dash.base, key_of(dash, cookie)) as open_page:
        yield open_page(reduced_motion="reduce")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_keeps_anybody_out(window: Watched, demo: Demo, name: str) -> None:
    assert faults_of(window, paths(demo)[name]) == []


def faults_of(window: Watched, path: str) -> list[str]:
    """What axe-core finds on a page with all of it unfolded, in light and in dark."""
    window.page.emulate_media(color_scheme="light")
    page = window.go(path)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = page.evaluate(RUN, {})
    page.emulate_media(color_scheme="dark")
    return found + page.evaluate(RUN, COLOURS)
