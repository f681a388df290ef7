"""Which wordings count as equal or similar, in scripts with and without spaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.records.similarity import Likeness, compare, wording_of


def likeness(one: str, other: str) -> Likeness | None:
    return compare(wording_of(one), wording_of(other))


def score(one: str, other: str) -> int:
    found = likeness(one, other)
    return found.score if found else 0


@pytest.mark.spec("R-109")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Qdrant for local search.", "use  qdrant, for local search"),
        ("Use `Qdrant` for search", "Use “Qdrant” for search!"),
        ("使用 Qdrant 进行本地搜索。", "使用 Qdrant 进行本地搜索"),
        ("Straße", "STRASSE"),
        ("\uff31drant", "Qdrant"),
        ("!!!", "!!!"),
        ("🎉", "🎉"),
    ],
)
def test_case_punctuation_and_white_space_make_no_difference(one: str, other: str) -> None:
    assert likeness(one, other) == Likeness("exact", 1000)


@pytest.mark.spec("R-109")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use C# for the tools", "Use C for the tools"),
        ("Keep 5% free", "Keep 5 free"),
        ("Use Qdrant for search", "For search use Qdrant"),
    ],
)
def test_other_names_and_another_order_are_similar_and_not_exact(one: str, other: str) -> None:
    found = likeness(one, other)
    assert found is not None
    assert found.match == "similar"
    assert 500 <= found.score <= 999


def test_statements_of_nothing_but_punctuation_are_told_apart() -> None:
    assert likeness("!!!", "???") is None


@pytest.mark.spec("R-109")
def test_half_of_all_words_make_a_wording_similar() -> None:
    assert score("alpha beta gamma", "alpha beta delta") == 500
    assert score("alpha beta gamma", "alpha delta epsilon") == 0
    assert score("alpha beta gamma omega", "alpha beta gamma delta") == 600


@pytest.mark.spec("R-109")
def test_three_words_that_another_wording_contains_are_enough() -> None:
    longer = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
    assert score("alpha beta gamma", longer) == 500
    assert score(longer, "kappa gamma iota") == 500
    assert score("alpha beta", longer) == 0
    assert score("alpha beta omega", longer) == 0


@pytest.mark.spec("R-109")
def test_stop_words_do_not_count() -> None:
    assert score("The search is to be with Qdrant", "Qdrant search") == 999
    assert score("it is on the way", "we do that for you") == 0


@pytest.mark.spec("R-109")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("本地搜索使用Qdrant。", "使用Qdrant进行本地搜索。"),
        ("ローカル検索にはQdrantを使う。", "ローカル検索はQdrantを使います。"),
        ("로컬 검색에는 Qdrant를 사용한다", "Qdrant를 로컬 검색에 사용한다"),
        ("ใช้ Qdrant สำหรับการค้นหา", "การค้นหาใช้ Qdrant"),
    ],
)
def test_scripts_without_spaces_are_compared_by_pairs_of_characters(one: str, other: str) -> None:
    assert 500 <= score(one, other) <= 999


@pytest.mark.spec("R-109")
def test_two_words_of_a_script_without_spaces_are_not_yet_three() -> None:
    longer = "发布之前必须先运行全部测试并且更新所有的文档说明页面"
    assert score("运行全部测试", longer) == 0  # five pairs: two and a half words
    assert score("必须先运行全部测试", longer) == 500
    assert score("请把页面的颜色改成深蓝", longer) == 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_is_the_same_both_ways_and_within_its_bounds(one: str, other: str) -> None:
    found = likeness(one, other)
    assert found == likeness(other, one)
    assert found is None or 500 <= found.score <= 1000
    assert found is None or (found.match == "exact") == (found.score == 1000)
    assert likeness(one, one) == Likeness("exact", 1000)
