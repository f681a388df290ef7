"""The pages of a group: members and nodes, published records, how publication goes."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.conftest import Opener, Watched, key_of, opener
from tests.dashboard.test_accessible import faults_of
from tests.support import group_demo
from tests.support.dashboards import Dashboard, dashboard
from tests.support.demo_memory import Demo, build, home
from tests.support.groups import Group, published, running_group, running_server

NARROW = {"viewport": {"width": 320, "height": 740}}
HOSTILE = '<script>alert(1)</script> <img src=x onerror="alert(1)"> \u202egnp'


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    folder = tmp_path_factory.mktemp("group")
    with running_server() as server, running_group(server, folder, "anna", "bob") as made:
        yield made


@pytest.fixture(scope="module")
def member(group: Group) -> Iterator[Demo]:
    """A home that joined the group."""
    with home() as found:
        build(found)
        group_demo.settle(group, found.now)
        group_demo.join(found.place, group)
        yield found


@pytest.fixture(scope="module")
def running(member: Demo) -> Iterator[Dashboard]:
    with dashboard(member.place) as found:
        yield found


@pytest.fixture(scope="module")
def key(running: Dashboard) -> str:
    """The cookie, for which the address is used up."""
    return running.enter()


@pytest.fixture
def opened(browser: Browser, running: Dashboard, key: str) -> Iterator[Opener]:
    with opener(browser, running.base, key_of(running, key)) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser: Browser, running: Dashboard, key: str) -> Iterator[Watched]:
    """One for all pages that are only looked at."""
    with opener(browser, running.base, key_of(running, key)) as open_page:
        yield open_page(reduced_motion="reduce")


@pytest.fixture(scope="module")
def narrow(browser: Browser, running: Dashboard, key: str) -> Iterator[Watched]:
    """The same, no wider than a small telephone."""
    with opener(browser, running.base, key_of(running, key)) as open_page:
        yield open_page(**NARROW)


PATHS = {
    "overview": "/group",
    "records": "/group/records?all=1",
    "node": "/group/records?node=a1b2c3d4e5f60718",
    "record": "/group/records/a1b2c3d4e5f60718/r0",
    "gone": "/group/records/a1b2c3d4e5f60718/nothing",
}


def test_it_tells_who_is_in_the_group_and_from_where_they_publish(opened: Opener) -> None:
    page = opened().go("/group")
    rows = page.locator("#members ~ .scroll tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("anna")
    expect(rows.nth(0)).to_contain_text("2")
    expect(rows.nth(1)).to_contain_text("bob (you)")
    expect(page.locator("#publication ~ p").first).to_contain_text("waiting")
    expect(page.get_by_role("link", name="Group", exact=True)).to_have_attribute(
        "aria-current", "page"
    )


@pytest.mark.spec("R-167", "R-168", "R-169")
def test_published_records_stand_under_their_owners_names(opened: Opener) -> None:
    page = opened().go("/group/records")
    seen = page.locator(".row").all_inner_texts()
    while page.get_by_role("link", name="More →").count():
        page.get_by_role("link", name="More →").click()
        seen += page.locator(".row").all_inner_texts()
    told = "\n".join(seen)
    assert "Prices are stored in cents." in told
    assert "Deploys happen on Mondays." not in told
    [theirs] = [text for text in seen if "Images are served as AVIF." in text]
    assert "from carol" in theirs
    page = opened().go(PATHS["node"])
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_role("link", name="Also unconfirmed and retired ones").click()
    expect(page.locator(".row .tag")).to_have_text(["from anna", "from anna", "Unconfirmed"])


@pytest.mark.spec("R-171")
def test_a_published_record_is_shown_whole_with_its_quote(opened: Opener) -> None:
    page = opened().go(PATHS["node"])
    page.get_by_role("link", name="Prices are stored in cents.").click()
    expect(page.locator("h1")).to_have_text("Prices are stored in cents.")
    expect(page.locator("blockquote")).to_have_text("Prices are stored in cents. Decided.")
    expect(page.locator("article header")).to_contain_text("from anna")


@pytest.mark.parametrize("name", PATHS)
def test_nothing_keeps_anybody_out(window: Watched, name: str) -> None:
    assert faults_of(window, PATHS[name]) == []
    assert window.leaks == []


@pytest.mark.parametrize("name", PATHS)
def test_every_page_fits_into_a_narrow_window(narrow: Watched, name: str) -> None:
    page = narrow.go(PATHS[name])
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_text_and_names_of_others_are_inert(opened: Opener, group: Group) -> None:
    with closing(group.open("anna")) as db:
        published(db, "hostile", "h1")
    group.run("UPDATE pub_revisions SET statement = %s WHERE record_id = 'h1'", HOSTILE)
    group.run("UPDATE nodes SET label = %s WHERE node_id = 'hostile'", HOSTILE)
    watched = opened()
    for path in ("/group", "/group/records?node=hostile", "/group/records/hostile/h1"):
        page = watched.go(path)
        expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
        assert "\u202e" not in page.content()
    assert [one for one in watched.complaints if "404" not in one] == []
    assert watched.leaks == []


def test_credentials_that_somebody_published_are_masked(
    running: Dashboard, key: str, group: Group
) -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    with closing(group.open("anna")) as db:
        published(db, "leaky", "l1")
    group.run("UPDATE pub_revisions SET statement = %s WHERE record_id = 'l1'", f"Use {secret}.")
    for path in ("/group/records?node=leaky", "/group/records/leaky/l1"):
        answer = running.get(path, cookie=key)
        assert answer.status == 200
        assert secret not in answer.text
        assert "masked" in answer.text


def test_without_the_server_pages_say_so_and_show_nothing_local(
    opened: Opener, group: Group, member: Demo
) -> None:
    group.server.stop()
    try:
        page = opened().go("/group")
        expect(page.locator(".empty").first).to_contain_text("cannot be used")
        expect(page.locator("#publication")).to_be_visible()
        watched = opened()
        page = watched.go("/group/records")
        expect(page.locator("main")).to_contain_text("cannot be used")
        expect(page.locator(".row")).to_have_count(0)
    finally:
        group.server.start()


def test_where_no_group_is_joined_the_page_says_how_to_begin(
    browser: Browser, dash: Dashboard, cookie: str
) -> None:
    with opener(browser, dash.base, key_of(dash, cookie)) as open_page:
        page = open_page().go("/group")
        expect(page.locator("main")).to_contain_text("mash group join -")
        page = open_page().go("/group/records")
        expect(page.locator("main")).to_contain_text("No group is joined")
