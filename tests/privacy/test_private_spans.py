"""Private spans in every form that someone may write them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.privacy.credentials import cut_title
from mash_plugin.privacy.own_words import persons_own
from mash_plugin.privacy.spans import MOST_TAGS, PRIVATE_MARK, split_private

SECRET = "the ledger moves on Friday"


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    "span",
    [
        "<private>{}</private>",
        "<PRIVATE>{}</Private>",
        '<private reason="not yet">{}</private>',
        '<private reason="a > b">{}</private>',
        "< private >{}</ private >",
        "<private\n>{}</private>",
        "\uff1cprivate\uff1e{}\uff1c/private\uff1e",
        "\uff1cｐｒｉｖａｔｅ\uff1e{}\uff1c／ｐｒｉｖａｔｅ\uff1e",
        "&lt;private&gt;{}&lt;/private&gt;",
        "&#60;private&#62;{}&#60;/private&#62;",
        "\\u003cprivate\\u003e{}\\u003c/private\\u003e",
        "&amp;lt;private&amp;gt;{}&amp;lt;/private&amp;gt;",
        "&#x003C;private&#x003E;{}&#x3c;/private&#x3e;",
        "&LT;private&GT;{}&LT;/private&GT;",
        "%3Cprivate%3E{}%3C/private%3E",
        "\\x3cprivate\\x3e{}\\x3c/private\\x3e",
        "\\u{3c}private\\u{3e}{}\\u{3c}/private\\u{3e}",
        "\uff1cＰＲＩＶＡＴＥ\uff1e{}\uff1c/private\uff1e",
        "<private>a</private> <private>{}</private>",
        "<private><private>a</private>{}</private>",
        "```\n<private>{}</private>\n```",
    ],
)
@pytest.mark.row(53)
def test_a_span_leaves_the_text_in_every_form(span: str) -> None:
    visible, inner = split_private("Use Postgres. " + span.replace("{}", SECRET) + " Thanks.")
    assert SECRET not in visible
    assert "Use Postgres." in visible
    assert "Thanks." in visible
    assert any(SECRET in text for text in inner)


@pytest.mark.spec("R-176")
@pytest.mark.parametrize(
    "text",
    [
        f"Use Postgres. <private>{SECRET}\n\nand so on",
        f"Use Postgres. <private>a <private>b</private> {SECRET}",
        f"Use Postgres. <private/>{SECRET}",
        f"Use Postgres. <private {SECRET}",
        f"Use Postgres. &lt;private {SECRET}",
    ],
)
@pytest.mark.row(53)
def test_an_unclosed_span_runs_to_the_end(text: str) -> None:
    visible, inner = split_private(text)
    assert visible == "Use Postgres. " + PRIVATE_MARK
    assert SECRET not in visible
    assert inner or text.endswith(SECRET)


@pytest.mark.spec("R-176")
def test_a_span_split_over_two_blocks_is_one_span() -> None:
    visible, inner = split_private("\n".join(["Yes. <private>half", "other half</private> Go."]))
    assert visible == f"Yes. {PRIVATE_MARK} Go."
    assert inner == ("half\nother half",)


@pytest.mark.parametrize(
    "text",
    ["a <privateKey> b", "<private-data>", "private: yes", "a private </b>", "</private> alone"],
)
def test_what_is_no_span_stays(text: str) -> None:
    assert split_private(text) == (text, ())


def test_words_on_both_sides_of_a_span_do_not_join() -> None:
    visible, _inner = split_private("We will <private>not</private> use it.")
    assert "We will use it." not in " ".join(visible.split())


@pytest.mark.spec("R-176")
def test_behind_more_tags_than_anybody_writes_all_is_private() -> None:
    for many in ("<private>a</private> b " * MOST_TAGS, "</private>" * 3 * MOST_TAGS):
        visible, inner = split_private(f"{many}{SECRET} <private>{SECRET}")
        assert SECRET not in visible
        assert SECRET in inner[-1]


@pytest.mark.parametrize(
    ("title", "cut"),
    [
        ("short", "short"),
        ("a word too long", "a word"),
        ("two  words", "two"),
        ("漢字仮名交じり文です", "漢字仮名交じり文"),
        ("https://ledger.example", "https://"),
    ],
)
def test_a_title_is_cut_at_a_word_that_may_be_a_credential(title: str, cut: str) -> None:
    assert cut_title(title, 8) == cut


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="<>&\\＜＞﹤﹥")))
def test_no_text_around_a_span_brings_it_back(before: str, secret: str) -> None:
    secret = f"qqq{secret}qqq"
    visible, _inner = split_private(f"{before.replace('qqq', '')}<private>{secret}</private>")
    assert secret not in visible


@pytest.mark.parametrize(
    "piece",
    [
        "<private ",
        "< ",
        "&lt;private ",
        "<private>",
        "\\u003c",
        "> \n",
        "&amp;",
        "&#0000",
        "private",
    ],
)
@pytest.mark.row(55)
def test_time_grows_with_the_length_of_hostile_text_alone(piece: str) -> None:
    def spent(count: int) -> float:
        text, spans = piece * count, []
        for _ in range(3):
            began = time.process_time()
            split_private(text)
            persons_own(text)
            spans.append(time.process_time() - began)
        return min(spans)

    assert spent(40_000) < 12 * spent(10_000) + 0.01
