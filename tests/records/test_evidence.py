"""Quotes stand in a text, or do not; citations are fresh, or not."""

import tracemalloc
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.records.evidence import (
    KEPT_CHARS,
    find_folded,
    find_quote,
    fold,
    is_fresh,
    is_stale,
    kept_text,
    quote_occurs_in,
    status_of,
    status_without_source,
)
from mash_plugin.records.model import Evidence

SAID = (
    "So: let\u2019s  use\u00a0\u201cQdrant\u201d \u2014\r\nnot 160 others, na\u00efve parse_args."
)
QUOTED = "parse_args"


@pytest.mark.spec("R-014")
@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ('let\'s use "Qdrant" - not', SAID),
        ("let\u2019s use \u201cQdrant\u201d \u2013 not", SAID),
        ("na\u0069\u0308ve", SAID),
        ("na\u00efve", unicodedata.normalize("NFD", SAID)),
        ("parse_args.", SAID),
        ("parse", "parse_args"),
        ("\u4f7f\u7528", "\u6211\u4eec\u4f7f\u7528\u6570\u636e\u5e93"),
        ("\ub370\uc774\ud130", "\ub370\uc774\ud130\ub97c \uc4f4\ub2e4"),
        ("\u30c7\u30fc\u30bf", "\u30c7\u30fc\u30bf\u3092\u4f7f\u3046"),
        ("\u0e43\u0e0a\u0e49", "\u0e40\u0e23\u0e32\u0e43\u0e0a\u0e49\u0e10\u0e32\u0e19"),
        ("16", "16\u500b"),
        ("\uac00", "\u1100\u1161 \ub098"),
    ],
)
@pytest.mark.row(43)
def test_a_quote_is_found_whatever_its_typography(quote: str, text: str) -> None:
    assert quote_occurs_in(quote, text)


@pytest.mark.spec("R-014")
@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("use qdrant", "use Qdrant"),
        ("use Qdran", "use Qdrant"),
        ("se Qdrant", "use Qdrant"),
        ("use ... search", "use Qdrant for search"),
        ("Postgres 1", "Postgres 16"),
        ("caf", "cafe\u0301"),
        ("\u0431\u0430\u0437", "\u0431\u0430\u0437\u0430"),
        ("use Qdrant", "use\n\ufffc\nQdrant"),
        ("", "anything"),
    ],
)
@pytest.mark.row(43)
def test_other_words_and_cut_words_are_not_the_quote(quote: str, text: str) -> None:
    assert not quote_occurs_in(quote, text)


@pytest.mark.spec("R-014")
def test_a_cut_word_is_passed_over_for_a_whole_one() -> None:
    assert find_quote("use", "user use") == "use"


@pytest.mark.spec("R-014")
def test_the_sources_own_characters_are_kept() -> None:
    kept = find_quote('let\'s use "Qdrant" - not', SAID)
    assert kept == "let\u2019s  use\u00a0\u201cQdrant\u201d \u2014\r\nnot"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)


@pytest.mark.spec("R-014")
@given(st.lists(WORDS, min_size=1, max_size=8), st.data())
def test_what_is_kept_is_part_of_the_source_and_folds_to_the_quote(
    words: list[str], data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from([" ", "\n", "\u00a0", " \t "])).join(words)
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    kept = find_quote(quote, text)
    if kept is not None:
        assert kept in text
        assert fold(kept) == fold(quote)
    assert find_quote(text, text) is not None or not fold(text)


@pytest.mark.spec("R-014")
@given(st.text(max_size=40), st.text(max_size=40))
def test_folding_twice_changes_nothing(left: str, right: str) -> None:
    assert fold(fold(left + right)) == fold(left + right)


def evidence(**fields: str) -> Evidence:
    values = {
        "chat_id": "c",
        "message_id": "m",
        "quote": "use Qdrant",
        "purpose": "endorsement",
        "role": "user",
        "author": "person",
        "message_text": "",
    }
    return Evidence(**{**values, **fields})  # type: ignore[arg-type]


@pytest.mark.spec("R-025")
@pytest.mark.row(45)
def test_a_citation_is_compared_with_the_newest_index() -> None:
    assert status_of(evidence(), "Let's use Qdrant.", "user", "person") == "matching"
    assert status_of(evidence(), "Let's use Milvus.", "user", "person") == "changed"
    assert status_of(evidence(), None, "unknown", "unknown") == "missing"
    assert status_of(evidence(), "use Qdrant", "assistant", "agent") == "role_changed"
    assert status_of(evidence(), "use Qdrant", "user", "automated") == "role_changed"
    assert status_of(evidence(role="unknown"), "use Qdrant", "user", "person") == "role_unknown"
    of_agent = evidence(role="assistant", author="agent", purpose="report")
    assert status_of(of_agent, "use Qdrant", "assistant", "agent") == "matching"
    assert status_of(of_agent, "use Qdrant", "user", "person") == "role_changed"
    assert status_of(of_agent, "use Qdrant", "assistant", "person") == "role_changed"


@pytest.mark.spec("R-024", "R-025")
def test_a_citation_without_purpose_or_role_is_never_fresh() -> None:
    for unmarked in (evidence(role="unknown"), evidence(purpose="unknown")):
        assert not is_fresh(unmarked)
        assert status_without_source(unmarked) == "role_unknown"
    for status in ("matching", "unindexed", "changed", "missing"):
        marked = evidence(status=status)
        assert is_fresh(marked) is (status in ("matching", "unindexed"))
        assert status_without_source(marked) == status


@pytest.mark.spec("R-025")
@pytest.mark.row(45)
def test_one_changed_quote_makes_a_wording_stale_and_a_confirmation_never_does() -> None:
    changed = evidence(status="changed")
    assert is_stale([evidence(), changed])
    assert not is_stale([evidence(), changed._replace(added_by="confirmation")])
    assert not is_stale([])


@pytest.mark.spec("R-014")
def test_a_character_of_the_source_that_stands_for_two_is_kept_whole() -> None:
    assert find_quote("\u0f42", "\u0f43") == "\u0f43"


def test_of_a_huge_message_the_surroundings_of_the_quote_are_kept() -> None:
    text = "a " * KEPT_CHARS + QUOTED + " b" * KEPT_CHARS
    kept = kept_text(QUOTED, text)
    assert len(kept) == KEPT_CHARS
    assert QUOTED in kept
    assert kept_text(QUOTED, QUOTED) == QUOTED


MARKED = st.text(
    "ae \u0301\u0340\u0344\u0f72\u0f73\u0958\u212b\u1100\u1161\u11a8\u0e01\u0e48", max_size=12
)


@pytest.mark.spec("R-014")
@given(MARKED, st.integers(0, 12), st.integers(0, 12))
def test_what_is_kept_is_found_again_whatever_marks_stand_around_it(
    text: str, start: int, end: int
) -> None:
    kept = find_quote(text[start:end], text)
    if kept is not None:
        assert fold(kept) == fold(text[start:end])
        assert quote_occurs_in(kept, text)


@pytest.mark.spec("R-014")
def test_a_letter_is_not_cut_from_its_mark() -> None:
    assert find_quote("\u0e01", "\u212b \u0e01\u0e48") is None
    assert find_quote("\u0e01\u0e48", "\u212b \u0e01\u0e48") == "\u0e01\u0e48"


@pytest.mark.row(55)
def test_a_long_run_of_one_letter_is_passed_over_as_a_whole() -> None:
    text = _Counted("a" * 200_000)
    assert find_quote("a" * 4_000, "a" * 200_000) is None
    assert find_folded("a" * 4_000, text) is None
    assert text.searches <= 2


def test_a_quote_in_a_huge_message_is_found_without_a_list_of_its_characters() -> None:
    text = ("x" * 100_000 + "\r\n\t ") * 20 + "I\u2019d  like Qdrant"
    tracemalloc.start()
    assert find_quote("I'd like", text) == "I\u2019d  like"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(text)


class _Counted(str):
    """A text that counts how often it was searched."""

    searches = 0

    def find(self, *args: Any) -> int:
        self.searches += 1
        return super().find(*args)
