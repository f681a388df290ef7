"""Normal forms as Unicode has them, and in linear time for what nobody writes."""

import time
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.normal_form import LONGEST_RUN, normal_form, parts
from mash_plugin.records.evidence import find_quote, quote_occurs_in
from mash_plugin.tokens import index_text, words

MARKS = "\u0301\u0327" * 10_000  # an acute and a cedilla in turn: each has to pass all before it
ENDLESS = f"Look: a{MARKS} Pick me\u0301 now."


@given(st.text("abe\u0301\u0327\u212b\u1100\u1161 \n漢\uff9e😀", max_size=100))
def test_what_people_write_gets_the_form_that_unicode_gives_it(text: str) -> None:
    for form in ("NFC", "NFKC"):
        assert normal_form(form, text) == unicodedata.normalize(form, text)
    assert parts(text) == [text]


@pytest.mark.parametrize("marks", ["\u0301\u0327", "\uff9e\u0301"])
def test_a_run_of_marks_is_cut_and_nothing_is_lost(marks: str) -> None:
    text = f"one two{marks * 500} three"
    assert "".join(parts(text)) == text
    assert max(map(len, parts(text))) <= LONGEST_RUN + len("one two three")


@pytest.mark.spec("R-014")
@pytest.mark.parametrize(
    ("work", "result"),
    [
        (lambda: find_quote("Pick m\u00e9 now", ENDLESS), "Pick me\u0301 now"),
        (lambda: find_quote("Pick you", ENDLESS), None),
        (lambda: quote_occurs_in(f"a{MARKS[:100]}", ENDLESS), False),
        (lambda: index_text(ENDLESS).split()[-1], "now"),
        (lambda: words(ENDLESS)[0], "look"),
    ],
)
def test_marks_without_end_hold_nobody_up(work: Callable[[], object], result: object) -> None:
    began = time.process_time()
    assert work() == result
    assert time.process_time() - began < 0.4
