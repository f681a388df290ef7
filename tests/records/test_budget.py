"""Items fit into a count and a number of bytes."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.records.budget import Item, pack, page, size_of

TEXT = st.text(st.characters(codec="utf-8"), max_size=300) | st.sampled_from(
    ['"\\' * 200, "\x00\x1f" * 60, "\u041f" * 400, "\U0001f600" * 200, "\u597d" * 300]
)
ITEMS = st.lists(st.builds(dict, statement=TEXT), max_size=25)


def packed(relevant: list[Item], rest: list[Item], limit: int = 8, budget: int = 6000) -> Item:
    return pack(
        relevant,
        rest,
        lambda item: dict(item),
        lambda item: len(str(item["statement"]).encode()),
        limit,
        budget,
        False,
        lambda *_: None,
    )


@pytest.mark.spec("R-079")
@given(ITEMS, ITEMS, st.integers(1, 20), st.sampled_from([1024, 6000, 32_768]))
@pytest.mark.row(52)
def test_no_packet_is_over_its_budget_or_its_count(
    relevant: list[Item], rest: list[Item], limit: int, budget: int
) -> None:
    packet = packed(relevant, rest, limit, budget)
    assert len(orjson.dumps(packet)) <= budget
    compact = json.dumps(packet, ensure_ascii=False, separators=(",", ":"))
    assert len(compact.encode()) <= budget
    assert len(packet["records"]) <= limit


@pytest.mark.spec("R-080")
@given(ITEMS, ITEMS, st.integers(1, 20), st.sampled_from([1024, 6000, 32_768]))
@pytest.mark.row(52)
def test_truncated_says_whether_a_relevant_record_was_left_out(
    relevant: list[Item], rest: list[Item], limit: int, budget: int
) -> None:
    packet = packed(relevant, rest, limit, budget)
    shown = [item for item in packet["records"] if "matched" not in item]
    assert packet["truncated"] == (len(shown) < len(relevant))


@pytest.mark.spec("R-080")
def test_a_record_is_skipped_whole_and_a_smaller_one_still_fits() -> None:
    items = [{"statement": "a"}, {"statement": "b" * 2000}, {"statement": "c"}]
    packet = packed(items, [], budget=1024)
    assert packet["records"] == [{"statement": "a"}, {"statement": "c"}]
    assert packet["truncated"] is True


@pytest.mark.spec("R-073")
def test_the_rest_fills_what_is_left_marked_and_never_truncates() -> None:
    rest = [{"statement": "b"}, {"statement": "c" * 2000}, {"statement": "d"}]
    packet = packed([{"statement": "a"}], rest, limit=2, budget=1024)
    assert packet["records"] == [{"statement": "a"}, {"statement": "b", "matched": False}]
    assert packet["truncated"] is False


def test_what_cannot_be_shown_is_passed_over_and_each_outcome_is_told() -> None:
    texts = {1: "", 2: "short", 3: "x" * 2000, 4: "fits", 5: "no place", 6: "not looked at"}
    told: list[tuple[int, str]] = []
    packet = pack(
        [1, 2, 3, 4, 5, 6],
        [],
        lambda n: {"n": texts[n]} if n > 1 else "damaged",
        lambda n: len(texts[n]),
        2,
        1024,
        True,
        lambda n, outcome: told.append((n, outcome)),
    )
    shown = [{"n": "short"}, {"n": "fits"}]
    assert packet == {"records": shown, "truncated": True, "scan_limited": True}
    assert told == [(1, "damaged"), (2, "shown"), (3, "budget"), (4, "shown"), (5, "limit")]


def test_the_empty_result_has_the_size_that_is_counted() -> None:
    assert size_of({"records": [], "truncated": False, "scan_limited": False}) == 53


@pytest.mark.spec("R-098")
def test_a_page_holds_at_least_one_item_and_says_when_more_follow() -> None:
    items = [{"statement": "a" * 900}, {"statement": "b" * 900}]
    assert page(items, 20, 1000, {}) == (items[:1], False)
    assert page(items, 20, 100, {}) == (items[:1], False)
    assert page(items, 1, 9999, {}) == (items[:1], False)
    assert page(items, 2, 9999, {}) == (items, True)
