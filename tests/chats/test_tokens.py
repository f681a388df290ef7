"""One tokeniser for every language and for identifiers."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.tokens import _MEMO, MEMO_CHUNKS, forget_memo, index_text, significant, words


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("parse_args", "parseArgs"),
        ("HTTPServer", "http server"),
        ("PARSE-ARGS", "parse args"),
        ("café", unicodedata.normalize("NFD", "café")),
        ("CAFÉ", "cafe"),
        ("Straße", "STRASSE"),
        ("İstanbul", "istanbul"),
        ("пароль", "ПАРОЛЯ"),
        ("й", unicodedata.normalize("NFD", "й")),
        ("deciding", "decided"),
        ("databases", "database"),
        ("queries", "query"),
        ("running", "runs"),
        ("Bob's", "bob"),
        ("Bob’s", "bob"),
        ("ＡＢＣ１２", "abc12"),
        ("src/ledger.py", "src ledger py"),
    ],
)
def test_spellings_of_one_word_are_one(left: str, right: str) -> None:
    assert words(left) == words(right)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("用户身份", ["用户", "户身", "身份"]),
        ("しりとり", ["しり", "りと", "とり"]),
        ("끝말잇기", ["끝말", "말잇", "잇기"]),
        ("重跑gen-itgc后", ["重跑", "gen", "itgc", "后"]),
        ("我", ["我"]),
        ("🎉", ["🎉"]),
        ("C++", ["c"]),
        ("a\0b", ["a", "b"]),
        ("", []),
        ("\u200b … — ()", []),
        ("bus status analysis", ["bus", "status", "analysis"]),
        ("string nothing bed", ["string", "noth", "bed"]),
    ],
)
def test_tokens_of_a_text(text: str, tokens: list[str]) -> None:
    assert words(text) == tokens


def test_right_to_left_and_combining_scripts_keep_their_words_whole() -> None:
    assert words("שלום עולם") == ["שלום", "עולם"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert len(words("مرحبا بالعالم")) == 2


def test_a_query_without_stop_words() -> None:
    assert significant("the Ledger of the ledger") == ["ledger"]


@given(st.text())
def test_the_index_holds_every_token_of_a_query_in_order(text: str) -> None:
    indexed = iter(index_text(text).split())
    assert all(any(token == other for other in indexed) for token in words(text))


@given(st.text(alphabet=st.characters(max_codepoint=0x3FFF)))
def test_tokens_hold_nothing_but_letters_digits_marks_and_pictures(text: str) -> None:
    for token in words(text):
        assert not any(c.isspace() or c in '"*^:(){}+-\0' for c in token)
        assert len(token) <= 64


def test_the_memo_never_grows_beyond_its_bound() -> None:
    for number in range(0, MEMO_CHUNKS + 2_000, 100):
        index_text(" ".join(f"w{n}" for n in range(number, number + 100)))
    assert len(_MEMO) <= MEMO_CHUNKS
    forget_memo()
    assert not _MEMO
