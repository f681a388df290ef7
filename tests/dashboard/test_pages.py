"""The pages in a real browser: filters, records, links to messages, keys, plots."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import Opener, Watched, key_of, opener
from tests.support.dashboards import Dashboard
from tests.support.demo_memory import Demo

NARROW = {"viewport": {"width": 320, "height": 740}}


def paths(demo: Demo) -> dict[str, str]:
    """Every page."""
    return {
        "memory": "/memory",
        "filtered": "/memory?kind=decision&q=qdrant",
        "nothing": "/memory?q=zebra",
        "record": f"/memory/{demo.ids['qdrant']}",
        "contradicted": f"/memory/{demo.ids['tuesday']}",
        "chats": "/chats",
        "search": "/chats?q=qdrant",
        "chat": "/chats/claude-code-s-filters",
        "sessions": "/sessions",
        "session": "/sessions/s-again",
        "timeline": "/timeline",
        "group": "/group",
        "throughline": "/throughline",
        "health": "/health",
        "failure": "/memory/00000000000000000000000000000000",
    }


PAGES = tuple(paths(Demo(None, 0, {"qdrant": "", "tuesday": ""})))  # type: ignore[arg-type]


@pytest.mark.spec("R-165")
def test_filters_change_the_list_and_live_in_the_address(opened: Opener) -> None:
    page = opened().go("/memory")
    expect(page.locator(".row")).to_have_count(9)
    page.get_by_role("link", name="Unconfirmed 1").click()
    expect(page).to_have_url(re.compile(r"review=candidate$"))
    expect(page.locator(".row .statement")).to_have_text(
        ["Filtered queries take 31 ms with Qdrant."]
    )
    page.get_by_role("link", name="Without the filter Unconfirmed").click()
    page.get_by_role("link", name="Decisions 6").click()
    page.get_by_role("link", name="acme/site 3").click()
    page.get_by_role("link", name="An agent 1").click()
    expect(page.locator(".row .statement")).to_have_text(
        ["The guide has two pages, one for setup and one for use."]
    )
    page.go_back()
    expect(page.locator(".row")).to_have_count(3)
    page.reload()
    expect(page.locator(".row")).to_have_count(3)
    page.get_by_role("link", name="Contradicted 2").click()
    expect(page.locator(".row .tag.bad")).to_have_count(2)


@pytest.mark.spec("R-165")
def test_search_keeps_the_filters_and_works_without_a_script(opened: Opener) -> None:
    page = opened(java_script_enabled=False).go("/memory?kind=decision")
    page.get_by_role("searchbox").fill("qdrant contain")
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(re.compile(r"kind=decision&q=qdrant\+contain$"))
    expect(page.locator(".row .statement")).to_have_text(
        ["Use Qdrant for local search, in a container of its own."]
    )


@pytest.mark.spec("R-165")
def test_a_record_tells_its_history_as_what_came_and_what_went(opened: Opener, demo: Demo) -> None:
    page = opened().go(f"/memory/{demo.ids['qdrant']}")
    newest = page.locator(".history > li").first
    expect(newest.locator("ins")).to_have_text("[added] , in a container of its own [end]")
    expect(newest).to_contain_text("Revision 2")
    oldest = page.locator(".history > li").nth(1)
    expect(oldest.locator(".difference")).to_have_text("Use Qdrant for local search.")
    expect(page.locator("#evidence ~ .citations > li")).to_have_count(2)
    expect(page.locator("#evidence ~ .plain")).to_contain_text(demo.messages["confirmed"])


@pytest.mark.spec("R-165")
def test_the_drawing_of_links_says_the_same_in_words(opened: Opener, demo: Demo) -> None:
    page = opened().go(f"/memory/{demo.ids['qdrant']}")
    sentences = [" ".join(text.split()) for text in page.locator(".sentences li").all_inner_texts()]
    chroma, qdrant = (
        "Use Chroma as the vector store for local search.",
        "Use Qdrant for local search, in a container of its own.",
    )
    assert sentences[0].startswith(f"{qdrant} replaces {chroma} since ")
    tests = "Tests start an empty Qdrant instead of cleaning a shared one."
    assert sentences[1].startswith(f"{tests} supports {qdrant} since ")
    drawn = page.locator(".graph .node")
    expect(drawn).to_have_count(3)
    expect(page.locator(".graph .relation")).to_have_text(["replaces", "supports"])
    page.locator(".graph a").filter(has_text="Use Chroma").click()
    expect(page.locator("h1")).to_have_text(chroma)
    expect(page.locator(".sentences li").first).to_contain_text(f"replaces {chroma}")


@pytest.mark.spec("R-165")
def test_a_quote_leads_to_its_message_and_the_message_back_to_the_record(
    opened: Opener, demo: Demo
) -> None:
    page = opened().go(f"/memory/{demo.ids['qdrant']}")
    page.get_by_role("link", name="Show the message").first.click()
    message = page.locator(".message[data-asked]")
    expect(message).to_contain_text("Keep Qdrant in its own container")
    expect(message).to_be_in_viewport()
    assert page.url.endswith(f"#{message.get_attribute('id')}")
    message.get_by_role("link", name="Use Qdrant for local search").click()
    expect(page).to_have_url(re.compile(demo.ids["qdrant"]))


def test_a_found_message_without_the_words_says_which_message_it_follows(
    opened: Opener,
) -> None:
    found = opened().go("/chats?q=Which+vector+store").locator("li.row")
    answer = found.filter(has_text="Three would do")
    expect(answer).to_contain_text("found as it follows user: Which vector store")


@pytest.mark.spec("R-165")
def test_a_chat_leads_to_what_its_session_was_shown_and_back(opened: Opener) -> None:
    page = opened().go("/chats/claude-code-s-again")
    page.get_by_role("link", name="What it was shown").click()
    expect(page.locator(".moment h3").first).to_be_visible()
    page.wait_for_load_state()  # the script that listens to keys comes last
    for _ in range(2):
        page.keyboard.press("j")
    expect(page.locator("[data-row]").nth(1)).to_be_focused()
    page.get_by_role("link", name="Its chat").click()
    expect(page).to_have_url(re.compile("claude-code-s-again$"))


@pytest.mark.spec("R-176")
def test_a_chat_tells_its_authors_apart_and_keeps_private_parts_out(opened: Opener) -> None:
    page = opened().go("/chats/claude-code-s-filters")
    said = page.locator(".message .who").all_inner_texts()
    assert said == ["Person", "Agent", "Person", "Automated", "Person", "Person"]
    expect(page.locator(".message").last).to_contain_text("A private part of this message")
    assert "not for you" not in page.content()


@pytest.mark.spec("R-165")
def test_commands_and_calls_stand_there_to_be_copied(
    opened: Opener, demo: Demo, dash: Dashboard
) -> None:
    watched = opened(permissions=["clipboard-read", "clipboard-write"])
    record_id = demo.ids["qdrant"]
    page = watched.go(f"/memory/{record_id}")
    page.get_by_role("button", name="Copy: Withdraw it").first.click()
    expect(page.get_by_role("button", name="Copy: Withdraw it").first).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"mash withdraw {record_id}"
    page.get_by_text("What an agent would call").click()
    call = page.locator("#call-2").inner_text()
    assert '"action": "revise"' in call
    assert '"state": "withdrawn"' in call
    page.get_by_role("link", name="Raw JSON").click()
    assert f'"id": "{record_id}"' in page.content()


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/memory?kind=nonsense", 400, "kind: must be one of"),
        ("/memory?scope=zzz", 400, "scope.kind: must be one of"),
        ("/memory?after=abc", 400, "This address names no page"),
        ("/memory?after=1.a&n=50", 200, "Nothing older fits."),
        ("/chats/claude-code-none", 404, "No chat"),
        ("/chats/claude-code-s-filters?m=none", 404, "has no message"),
        ("/chats/claude-code-s-filters?n=99999", 200, "Nothing is kept of this part"),
        ("/memory/short", 400, "too short"),
        ("/sessions/none", 404, "No hook ran in a session"),
        ("/sessions?record=00000000000000000000000000000000", 404, "There is no record"),
        ("/sessions?n=900", 200, "No session"),
        ("/sessions/s-again?n=900", 200, "Nothing later was shown"),
        ("/sessions/s-again/json", 200, '"session_id": "s-again"'),
        ("/sessions/none/json", 404, "No hook ran in a session"),
    ],
)
def test_an_address_that_leads_nowhere_says_why(
    dash: Dashboard, cookie: str, path: str, status: int, told: str
) -> None:
    answer = dash.get(path, cookie=cookie)
    assert (answer.status, told in answer.text) == (status, True)


def test_keys_search_move_and_open(opened: Opener) -> None:
    page = opened().go("/memory")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jk?/")
    expect(page.get_by_role("searchbox")).to_have_value("jk?/")
    page.get_by_role("searchbox").blur()
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator("[data-row]").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator("[data-row]").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/memory/[0-9a-f]{32}$"))


@pytest.mark.spec("R-165")
def test_the_timeline_strikes_through_what_was_replaced_and_counts_its_days(
    opened: Opener,
) -> None:
    page = opened().go("/timeline")
    expect(page.locator("s")).to_have_text("Use Chroma as the vector store for local search.")
    expect(page.get_by_role("heading", name="9 records saved in the last year")).to_be_visible()
    page.get_by_text("In numbers").click()
    expect(page.locator("#year-numbers")).to_contain_text("with 2 records")
    months = page.locator("#year-numbers li").all_inner_texts()[1:]
    assert sum(int(text.split(": ")[1].split()[0]) for text in months) == 9
    drawn = page.locator(".strip rect title").all_text_contents()
    assert sum(int(text.split(": ")[1].split()[0]) for text in drawn) == 9
    page.get_by_role("link", name="acme/site 3").click()
    expect(page.get_by_role("heading", name="3 records saved in the last year")).to_be_visible()


@pytest.fixture(scope="module")
def small(browser: Browser, dash: Dashboard, cookie: str) -> Iterator[Watched]:
    """A narrow window without scripts, for all pages that are only looked at."""
    with opener(browser, dash.base, key_of(dash, cookie)) as open_page:
        yield open_page(java_script_enabled=False, **NARROW)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_small_screen_says_everything_without_a_script_and_is_light(
    small: Watched, demo: Demo, dash: Dashboard, cookie: str, name: str
) -> None:
    path = paths(demo)[name]
    page = small.go(path)
    assert page.locator("html").evaluate("one => one.scrollWidth") <= 320
    nav = page.get_by_role("navigation", name="Pages")
    assert nav.evaluate("one => one.scrollWidth <= one.clientWidth"), "a page is out of sight"
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    weights = [
        len(dash.get(one, cookie=cookie).body)
        for one in (path, "/static/dash.css", "/static/dash.js", "/static/icon.svg")
    ]
    assert sum(weights) < 100_000
    assert small.leaks == []
    links = "all => all.map(one => new URL(one.getAttribute('href'), location).href)"
    for href in page.locator("a").evaluate_all(links):
        assert href.startswith(f"{dash.base}/"), href
