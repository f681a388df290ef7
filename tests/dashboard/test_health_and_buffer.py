"""How it does, in numbers that are counted elsewhere; and the working buffer."""

import re

import pytest
from playwright.sync_api import expect

from mash_plugin.dashboard.findings import Findings
from mash_plugin.dashboard.health_page import health
from mash_plugin.dashboard.place import Place
from mash_plugin.errors import StoreBusy, StoreDamaged
from tests.dashboard.conftest import Opener
from tests.support.daemons import event
from tests.support.demo_memory import Demo, home


def test_health_tells_what_hooks_cost_and_how_long_they_took(opened: Opener, demo: Demo) -> None:
    def answers() -> int:
        return sum(demo.place.call("view_health")["latency"]["hooks"]["session-start"])

    project, before = str(demo.place.root / "shop"), answers()
    start = event("SessionStart", source="startup", cwd=project, session_id="health-1")
    ran = demo.place.hook("session-start", start)
    assert ran.is_harmless()
    [told] = demo.place.call("session_ledger", {"session": "health-1"})["injected"]
    assert answers() == before + 1
    page = opened().go("/health")
    row = page.get_by_role("row").filter(has_text="health-1")
    assert row.get_by_role("cell").all_inner_texts()[3:] == ["1", kilobytes(told["bytes"])]
    expect(page.get_by_role("row").filter(has_text="session-start")).to_contain_text("Claude Code")
    size, took = page.locator("figure").filter(has_text="session-start").all()
    size.locator("summary").click()
    expect(size.locator("li").last).to_have_text(re.compile(rf": {told['bytes']:,} bytes$"))
    expect(took).to_contain_text(f"{before + 1} answers: half within")
    took.locator("summary").click()
    expect(took.locator("li").first).to_have_text(re.compile(r" ms: \d$"))
    expect(page.locator("#index ~ p").first).to_contain_text("messages of 4 chats; 9 records")


def test_how_long_hooks_took_outlives_the_daemon() -> None:
    with home() as demo:
        start = event("SessionStart", source="startup", cwd=str(demo.place.home), session_id="s-1")
        assert demo.place.hook("session-start", start).is_harmless()
        before = demo.place.call("view_health")["latency"]
        assert sum(before["hooks"]["session-start"]) == 1
        demo.place.call("stop")
        demo.place.children[0].wait(20)
        demo.place.start()
        assert demo.place.call("view_health")["latency"] == before
        page = health(place_over(demo), {}, {})
        assert "Answers since <time" in page
        assert "the last 30 days are kept" in page


def place_over(demo: Demo) -> Place:
    """What pages of this home are made of, without a doctor."""
    return Place(lambda method, _: demo.place.call(method), Findings(list), demo.place.paths)


def kilobytes(size: int) -> str:
    return f"{size:,} B" if size < 1_000 else f"{size / 1000:,.1f} kB"


def test_what_the_doctor_finds_comes_as_soon_as_it_is_there(opened: Opener) -> None:
    page = opened().go("/health")
    found = page.locator(".findings li").filter(has_text="its command is not on PATH")
    expect(found).to_have_count(2, timeout=20_000)
    expect(page.locator("#findings ~ .note")).to_have_text(re.compile(r"^\d+ things looked at are"))


def test_findings_hold_for_a_while_and_a_look_that_fails_is_one_itself() -> None:
    looks = []

    def examine() -> list[dict[str, str]]:
        looks.append(1)
        raise StoreBusy("The store is busy.")

    findings = Findings(examine)
    for _ in range(2):
        [found] = findings.get(10.0) or []
        assert (found["severity"], found["what"]) == ("error", "The store is busy.")
    assert (len(looks), findings.looks) == (1, 1)


def test_a_store_that_cannot_be_read_hides_nothing_that_the_doctor_found(demo: Demo) -> None:
    def ask(_method: str, _params: object) -> dict[str, object]:
        raise StoreDamaged("The store <b>is</b> damaged.")

    found = {"severity": "error", "what": "A page is torn.", "why": "", "next": "mash restore"}
    findings = Findings(lambda: [found])
    assert findings.get(10.0)
    page = health(Place(ask, findings, demo.place.paths), {}, {})
    assert "A page is torn." in page
    assert "Last look: <time" in page
    assert "The store &lt;b&gt;is&lt;/b&gt; damaged." in page


@pytest.mark.spec("R-165")
def test_the_buffer_shows_its_queue_and_what_expires_when(opened: Opener) -> None:
    page = opened().go("/throughline")
    expect(page.locator("#queue + p")).to_contain_text("1 capture waiting, the oldest since ")
    expect(page.get_by_role("heading", level=3)).to_have_text("telegram:dm standup")
    rows = page.locator("#working ~ ol .row")
    expect(rows.filter(has_text="ship the guide on Tuesday")).to_contain_text("expires ")
    expect(page.locator("#promoted ~ ol")).to_contain_text("None was promoted yet.")
