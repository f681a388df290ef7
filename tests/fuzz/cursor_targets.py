"""Cursors of shared lists, which come back from agents: kept, changed, or made up whole."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mash_plugin.errors import InvalidCursor
from mash_plugin.group import cursor
from mash_plugin.group.cursor import Position, read_cursor, write_cursor
from tests.fuzz.shapes import damaged, json_bytes, spoilt, texts
from tests.fuzz.target import Check, Target, refusal_of, split_head, with_head

GROUP, FILTERS = "group-1", {"kind": "decision"}


def cursors() -> SearchStrategy[bytes]:
    """A cursor of ours that was spoilt, or other content under the digest of ours."""
    made = [write_cursor(Position("node-1", 1, "r-1"), GROUP, FILTERS).encode()]
    made.append(write_cursor(Position("node-1"), GROUP, FILTERS).encode())
    fields = spoilt([[1, "node-1", 1_790_000_000_000, "r-1"], [1, "node-1", None, None]])
    given_back = damaged(
        st.sampled_from(made) | texts().map(lambda text: text.encode("utf-8", "replace"))
    )
    return st.one_of(
        with_head(st.just("given-back"), given_back),
        with_head(st.just("forged"), damaged(json_bytes(fields))),
    )


@contextmanager
def cursor_reading(_folder: Path) -> Iterator[Check]:
    """The reader of cursors."""
    yield _check_cursor


def _check_cursor(data: bytes) -> None:
    words, content = split_head(data)
    if words[:1] == ["forged"]:  # its digest needs no secret, so an agent can make one
        content = base64.urlsafe_b64encode(cursor._digest(content, GROUP, FILTERS) + content)
        content = content.rstrip(b"=")
    given = content.decode("utf-8", "replace")
    error = refusal_of(lambda: read_cursor(given, GROUP, FILTERS))
    if error is not None:
        assert isinstance(error, InvalidCursor)
        return
    found = read_cursor(given, GROUP, FILTERS)
    assert all("\0" not in str(part) for part in found)
    assert found.recorded_at is None or type(found.recorded_at) is int
    assert isinstance(refusal_of(lambda: read_cursor(given, "other", FILTERS)), InvalidCursor)
    assert isinstance(refusal_of(lambda: read_cursor(given, GROUP, {})), InvalidCursor)


TARGETS = {"cursors": Target(cursors(), cursor_reading)}
