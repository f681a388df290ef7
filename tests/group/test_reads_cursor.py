"""Cursors of shared lists: opaque, strict, and bound to the list that they came from."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.errors import InvalidCursor
from mash_plugin.group.cursor import Position, read_cursor, write_cursor
from mash_plugin.protocol.fields import MAX_CURSOR

FILTERS: dict[str, Any] = {
    "scope": {"kind": "repository", "identity": "github.com/acme/shop"},
    "kind": "decision",
    "include_inactive": False,
}
INSIDE = Position("n" * 64, 1_796_100_000_000, "r" * 64)
IDS = st.text("abcXYZ019_-", min_size=1, max_size=64)


@pytest.mark.spec("R-170")
@given(IDS, st.none() | st.tuples(st.integers(-(2**63) + 1, 2**63 - 1), IDS))
def test_a_cursor_comes_back_as_the_position_that_it_was_made_of(
    node_id: str, record: tuple[int, str] | None
) -> None:
    position = Position(node_id, *(record or ()))
    cursor = write_cursor(position, "g1", FILTERS)
    assert read_cursor(cursor, "g1", FILTERS) == position
    assert len(cursor) <= MAX_CURSOR


@pytest.mark.spec("R-099")
@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "fact"},
        {"kind": None},
        {"state": "accepted"},
        {"review": "candidate"},
        {"chat": "claude-code-s-1"},
        {"node_id": "n1"},
        {"include_inactive": True},
        {"scope": {"kind": "repository", "identity": "github.com/acme/other"}},
    ],
)
def test_a_cursor_of_other_filters_is_refused(changed: dict[str, Any]) -> None:
    cursor = write_cursor(INSIDE, "g1", FILTERS)
    with pytest.raises(InvalidCursor, match="same filters"):
        read_cursor(cursor, "g1", FILTERS | changed)


def test_a_cursor_of_another_group_is_refused() -> None:
    with pytest.raises(InvalidCursor, match="another list"):
        read_cursor(write_cursor(INSIDE, "g1", FILTERS), "g2", FILTERS)


@pytest.mark.spec("R-170")
def test_a_page_of_another_size_may_follow() -> None:
    cursor = write_cursor(INSIDE, "g1", FILTERS | {"limit": 20})
    assert read_cursor(cursor, "g1", FILTERS | {"limit": 50}) == INSIDE


@pytest.mark.parametrize("place", [0, 5, 20, -1])
def test_a_cursor_with_another_character_is_refused(place: int) -> None:
    cursor = list(write_cursor(INSIDE, "g1", FILTERS))
    cursor[place] = "A" if cursor[place] != "A" else "B"
    with pytest.raises(InvalidCursor):
        read_cursor("".join(cursor), "g1", FILTERS)


@given(st.text(max_size=80) | st.text("abcXYZ019_-=", max_size=80))
def test_any_text_is_refused_as_a_cursor(text: str) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(text, "g1", FILTERS)


@pytest.mark.parametrize("end", ["=", "\n", "A" * MAX_CURSOR])
def test_a_cursor_with_something_behind_it_is_refused(end: str) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(write_cursor(INSIDE, "g1", FILTERS) + end, "g1", FILTERS)
