"""A page follows what agents save meanwhile, and leaves its reader where they are."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import Opener, key_of, opener
from tests.support.dashboards import dashboard
from tests.support.demo_memory import Demo, said
from tests.support.mcp_servers import greeted

Json = dict[str, Any]


def save_over_mcp(demo: Demo, operation_id: str, statement: str) -> Json:
    """What an agent does: start `mash mcp`, call `record`, read the receipt."""
    body = {"statement": statement, "details": {"kind": "decision", "state": "proposed"}}
    change = {"action": "create", "scope": {"kind": "personal"}, "body": body}
    arguments = {
        "operation_id": operation_id,
        "change": {**change, "evidence": said("s-search", "Which vector store", "context")},
    }
    with greeted(demo.place.environment, demo.place.root) as server:
        result = server.call("record", arguments)
    receipt: Json = result["structuredContent"]
    return receipt


def forget(demo: Demo, receipt: Json) -> None:
    """Leave the home as it was for the other tests."""
    expected = {"id": receipt["id"], "revision": receipt["revision"]}
    change = {"action": "forget", "expected": expected}
    demo.place.call("record", {"operation_id": f"forget-{receipt['id']}", "change": change})


@pytest.mark.spec("R-165")
def test_a_new_record_appears_and_neither_scroll_nor_focus_nor_typing_is_lost(
    opened: Opener, demo: Demo
) -> None:
    page = opened(viewport={"width": 800, "height": 300}).go("/memory")
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    page.evaluate("window.stays = true")
    page.locator(".row").nth(5).scroll_into_view_if_needed()
    row = page.locator("[data-row]").nth(5)
    row.focus()
    text, top = row.inner_text(), row.bounding_box()
    receipt = save_over_mcp(demo, "live-1", "Name branches after what they do.")
    try:
        expect(page.locator(".row")).to_have_count(10, timeout=10_000)
        assert page.evaluate("window.stays")
        again = page.locator("[data-row]").nth(6)
        expect(again).to_be_focused()
        assert again.inner_text() == text
        now = again.bounding_box()
        assert top
        assert now
        assert abs(now["y"] - top["y"]) <= 1
        expect(page.get_by_role("status")).to_have_text("Updated just now")
        page.get_by_role("searchbox").fill("half a wo")
    finally:
        forget(demo, receipt)
    expect(page.locator(".row")).to_have_count(9, timeout=10_000)
    expect(page.get_by_role("searchbox")).to_have_value("half a wo")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_a_page_says_when_the_dashboard_has_ended(demo: Demo, opened: Opener) -> None:
    watched = opened()
    page = watched.go("/chats")
    page.route("**/chats", lambda route: route.abort())
    page.evaluate("refresh()")
    expect(page.get_by_role("status")).to_have_text("The dashboard has ended")


def test_a_page_says_when_its_dashboard_has_ended(browser: Browser, demo: Demo) -> None:
    with dashboard(demo.place) as own, opener(browser, own.base, key_of(own, own.enter())) as go:
        page = go().go("/memory")
        expect(page.locator("html")).to_have_attribute("data-live", "on")
        own.process.terminate()
        expect(page.get_by_role("status")).to_have_text("The dashboard has ended")


def test_a_record_that_is_forgotten_leaves_the_page_that_is_open(
    opened: Opener, demo: Demo
) -> None:
    receipt = save_over_mcp(demo, "live-forgotten", "Keep the pelican a secret.")
    page = opened().go(f"/memory/{receipt['id']}")
    expect(page.locator("html")).to_have_attribute("data-live", "on")
    expect(page.locator("h1")).to_have_text("Keep the pelican a secret.")
    forget(demo, receipt)
    expect(page.locator("h1")).to_have_text("This cannot be shown")
    assert "pelican" not in page.title() + page.content()
