"""axe-core finds nothing serious on any page, in light and in dark."""

import os
from pathlib import Path

import pytest

from tests.dashboard.conftest import Opener
from tests.dashboard.test_pages import PAGES, paths
from tests.support.daemons import ROOT
from tests.support.demo_memory import Demo

AXE = Path(
    os.environ.get("MASH_TEST_AXE")
    or ROOT / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
)
RUN = """async (options) => (await axe.run(document, {resultTypes: ["violations"], ...options}))
  .violations.filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 120)).join(" | "))"""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_keeps_anybody_out(opened: Opener, demo: Demo, name: str) -> None:
    page = opened(color_scheme="light", reduced_motion="reduce").go(paths(demo)[name])
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(RUN, {}) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(RUN, COLOURS) == []
