"""A daemon that is killed in the middle of a change did all of it or nothing."""

import pytest

from tests.lifecycle.conftest import Json, Shop

CEILING_S = 20.0


def killed_at(shop: Shop, failpoint: str, change: Json) -> Json:
    """The answer of a daemon that dies at this place."""
    daemon = shop.place.start(MASH_FAILPOINT=f"{failpoint}:kill")
    answer = shop.record("the change", change)
    assert daemon.wait(CEILING_S) == -9
    return answer


@pytest.fixture
def old(shop: Shop) -> str:
    """A record of a daemon that has ended."""
    daemon = shop.place.start()
    made = shop.record("made", shop.create("Keep the parser small."))
    shop.place.call("stop")
    daemon.wait(CEILING_S)
    return str(made["id"])


@pytest.mark.spec("R-049", "R-063", "R-064")
@pytest.mark.parametrize(
    ("failpoint", "is_done"),
    [
        ("supersede_between_writes", False),
        ("supersede_before_receipt", False),
        ("after_commit_before_reply", True),
    ],
)
def test_a_choice_and_its_successor_change_places_as_one(
    shop: Shop, old: str, failpoint: str, is_done: bool
) -> None:
    change = shop.revise(old, 1, "Keep the parser tiny.", "supersede")
    answer = killed_at(shop, failpoint, change)
    assert answer["error"]["code"] == "daemon_unavailable"
    assert answer["error"]["details"] == {"outcome": "unknown"}

    shop.place.start()
    states = {item["statement"]: item["state"] for item in shop.everything()}
    if is_done:
        assert states == {
            "Keep the parser small.": "superseded",
            "Keep the parser tiny.": "active",
        }
    else:
        assert states == {"Keep the parser small.": "active"}
    recalled = shop.ask("recall_records", {"scope": {"kind": "personal"}})["records"]
    assert len(recalled) == 1

    again = shop.record("the change", change)
    assert again["replayed"] is is_done
    assert again["superseded"] == {"id": old, "revision": 2}
    assert shop.record("the change", change) == {**again, "replayed": True}
    assert len(shop.everything()) == 2
    assert shop.head(old)["state"] == "superseded"
    links = shop.ask("get_record", {"id": old})["links"]
    assert [(one["relation"], one["id"]) for one in links] == [("supersedes", again["id"])]


@pytest.mark.spec("R-064", "R-065")
def test_a_forget_that_was_committed_is_known_after_the_kill(shop: Shop, old: str) -> None:
    change = shop.change("forget", old, 1, evidence=shop.endorsed())
    assert "error" in killed_at(shop, "after_commit_before_reply", change)
    shop.place.start()
    assert shop.ask("get_record", {"id": old})["error"]["code"] == "forgotten"
    assert shop.record("the change", change)["replayed"] is True
    assert (
        shop.record("made", shop.create("Keep the parser small."))["error"]["code"] == "forgotten"
    )


@pytest.mark.spec("R-064")
@pytest.mark.parametrize("action", ["revise", "confirm", "link"])
@pytest.mark.row(11)
def test_what_was_committed_without_a_reply_is_done_once(shop: Shop, old: str, action: str) -> None:
    daemon = shop.place.start()
    other = shop.record("other", shop.create("Another choice."))
    shop.place.call("stop")
    daemon.wait(CEILING_S)
    change = {
        "revise": shop.revise(old, 1, "Keep the parser tiny."),
        "confirm": shop.change("confirm", old, 1, evidence=shop.endorsed(1)),
        "link": shop.link({"id": old, "revision": 1}, other),
    }[action]
    assert "error" in killed_at(shop, "after_commit_before_reply", change)
    shop.place.start()
    before = shop.ask("get_record", {"id": old, "history": True})
    assert shop.record("the change", change)["replayed"] is True
    assert shop.ask("get_record", {"id": old, "history": True}) == before
    assert before["record"]["revision"] == (2 if action == "revise" else 1)
    assert before["record"]["confirmations"] == (1 if action == "confirm" else 0)
    assert len(before["links"]) == (1 if action == "link" else 0)
