"""What the documents promise about captures."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README, PAGE = (
    " ".join((ROOT / name).read_text().split()) for name in ("README.md", "docs/throughline.md")
)


@pytest.mark.spec("R-196")
def test_the_readme_says_what_the_filter_is_not():
    assert "**not a security boundary**" in README
    assert "**not a security boundary**" in PAGE
    assert "in an unusual format, split across lines or encoded can pass it" in PAGE


@pytest.mark.spec("R-199")
def test_the_page_names_who_captures_and_when():
    for caller in (
        "| a chat host | when a session closes or times out",
        "| a scheduled job | after its own output, also after a failure",
        "| a loop | at the end of each cycle that did something | `heartbeat` |",
    ):
        assert caller in PAGE


@pytest.mark.spec("R-222")
def test_the_page_recommends_an_order():
    order = PAGE.partition("Begin with capture and recall alone")[2].partition("consolidate")[0]
    steps = ("MM_WORKING_COMPILE", "MM_WORKING_AUTO_REFRESH", "for one agent", "MM_WORKING_PROMOTE")
    places = [order.index(step) for step in steps]
    assert places == sorted(places)
