"""Whatever stands in an address, the answer is a page, small and at once."""

import time

import pytest

from mash_plugin.dashboard.differences import pieces
from tests.privacy.samples import SAMPLES
from tests.support.dashboards import Dashboard

CHAT = "/chats/claude-code-s-search"
SECRET = SAMPLES["GitHub token"][0]
MANY = "9" * 5_000  # more digits than Python turns into a number


@pytest.mark.parametrize(
    "path",
    [f"/memory?after=1.x&n={MANY}", f"/chats?n={MANY}", f"{CHAT}?n={MANY}", f"{CHAT}?n=99999"],
)
@pytest.mark.row(58)
def test_a_number_of_no_page_is_passed_over(dash: Dashboard, cookie: str, path: str) -> None:
    answer = dash.get(path, cookie=cookie)
    assert answer.status == 200
    assert "99,999" not in answer.text


@pytest.mark.parametrize(
    "path", [f"/memory?after={MANY}.x", f"/timeline?scope=repository:{MANY}", "/memory?kind=%00"]
)
def test_an_address_that_asks_too_much_is_the_fault_of_who_asks(
    dash: Dashboard, cookie: str, path: str
) -> None:
    assert dash.get(path, cookie=cookie).status == 400


def test_a_search_as_long_as_an_address_does_not_swell_the_page(
    dash: Dashboard, cookie: str
) -> None:
    answer = dash.get("/memory?q=" + "%22" * 20_000, cookie=cookie)
    assert answer.status == 200
    assert len(answer.body) < 100_000


@pytest.mark.spec("R-177")
@pytest.mark.parametrize(
    "path",
    [
        "/memory?kind=decision&q=",
        "/memory?scope=repository:",
        "/memory?kind=",
        "/memory?after=1.",
        "/memory/",
        "/chats?q=",
        "/chats?scope=local_project:/",
        "/chats?q=deploy&scope=repository:",
        f"{CHAT}?m=",
        "/timeline?scope=repository:",
    ],
)
def test_a_credential_in_an_address_is_masked_on_its_page(
    dash: Dashboard, cookie: str, path: str
) -> None:
    page = dash.get(path + SECRET, cookie=cookie).text
    assert "mash" in page
    assert SECRET not in page


@pytest.mark.parametrize("name", ["conflicted", "stale"])
def test_a_filter_that_is_off_is_not_shown_as_one(dash: Dashboard, cookie: str, name: str) -> None:
    assert "Without the filter" in dash.get(f"/memory?{name}=1", cookie=cookie).text
    assert "Without the filter" not in dash.get(f"/memory?{name}=0", cookie=cookie).text


def test_two_wordings_made_to_be_hard_to_compare_are_compared_at_once() -> None:
    before, after = "a b " * 500, "b a a " * 333
    begun = time.process_time()
    found = pieces(before, after)
    assert time.process_time() - begun < 1
    assert "".join(one.text for one in found if one.kind != "added") == before
    assert "".join(one.text for one in found if one.kind != "removed") == after
