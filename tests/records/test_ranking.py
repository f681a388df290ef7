"""The order of recall is total and bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.records.ranking import (
    DAY_MS,
    Ranked,
    StartBoosts,
    boosts,
    cited_until,
    raised,
    rank_records,
    standing,
    standings_change_at,
)
from mash_plugin.tokens import significant, words

NOW = 1_796_100_000_000


def ranked(record_id: str = "a", **fields: object) -> Ranked:
    values = {
        "tier": 0,
        "recorded_at": NOW,
        "confirmations": 0,
        "is_agents_decision": False,
        "strong_tokens": "",
        "weak_tokens": "",
    }
    return Ranked(record_id, **{**values, **fields})  # type: ignore[arg-type]


def ranking(window: list[Ranked], *terms: str) -> tuple[list[Ranked], list[Ranked]]:
    parts = rank_records([(standing(r, NOW), r) for r in window], terms, NOW)
    relevant, rest = ([r for _, r in part] for part in parts)
    return relevant, rest


def order(window: list[Ranked], *terms: str) -> list[str]:
    relevant, rest = ranking(window, *terms)
    return [r.id for r in (*relevant, *rest)]


RANKED = st.builds(
    Ranked,
    st.uuids().map(str),
    st.integers(0, 5),
    st.integers(NOW - 200 * DAY_MS, NOW + DAY_MS),
    st.integers(0, 600),
    st.booleans(),
    st.lists(st.sampled_from("abcdef"), max_size=4).map(" ".join),
    st.lists(st.sampled_from("abcdef"), max_size=4).map(" ".join),
)


@pytest.mark.spec("R-074")
@given(st.lists(RANKED, max_size=30), st.lists(st.sampled_from("abcxyz"), max_size=3))
def test_tiers_are_never_crossed_and_no_record_is_lost(
    window: list[Ranked], terms: list[str]
) -> None:
    relevant, rest = ranking(window, *terms)
    assert [r.tier for r in relevant] == sorted(r.tier for r in relevant)
    assert [r.tier for r in rest] == sorted(r.tier for r in rest)
    assert sorted(r.id for r in (*relevant, *rest)) == sorted(r.id for r in window)


@pytest.mark.spec("R-073")
@given(st.lists(RANKED, max_size=30), st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=3))
def test_what_matches_no_word_comes_after_what_does(window: list[Ranked], terms: list[str]) -> None:
    relevant, rest = ranking(window, *terms)
    for record in window:
        words = {*record.strong_tokens.split(), *record.weak_tokens.split()}
        assert (record in relevant) == bool(words & set(terms))
        assert (record in rest) == (not words & set(terms))


@pytest.mark.spec("R-074")
@given(st.lists(RANKED, max_size=20), st.randoms())
def test_the_order_does_not_depend_on_the_order_of_reading(window: list[Ranked], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(window)
    random.shuffle(shuffled)
    assert order(window, "a", "b") == order(shuffled, "a", "b")


@pytest.mark.spec("R-075")
@given(RANKED)
def test_boosts_are_bounded(record: Ranked) -> None:
    assert all(0 <= points <= 100 for points in boosts(record, NOW))


@pytest.mark.spec("R-075")
def test_one_confirmation_and_a_newer_date_raise_a_record() -> None:
    assert order([ranked("a"), ranked("b", confirmations=1)]) == ["b", "a"]
    assert order([ranked("a", recorded_at=NOW - 9 * DAY_MS), ranked("b")]) == ["b", "a"]
    assert boosts(ranked(confirmations=4), NOW) == boosts(ranked(confirmations=400), NOW)


@pytest.mark.spec("R-075")
def test_a_recent_date_weighs_against_confirmations() -> None:
    old = ranked("a", recorded_at=NOW - 100 * DAY_MS, confirmations=3)
    assert order([old, ranked("b")]) == ["b", "a"]
    assert order([old, ranked("b", recorded_at=NOW - 45 * DAY_MS)]) == ["a", "b"]


@pytest.mark.spec("R-075")
def test_confirmations_never_outweigh_a_fuller_match() -> None:
    both = ranked("b", strong_tokens="qdrant search", recorded_at=NOW - 300 * DAY_MS)
    one = ranked("a", strong_tokens="qdrant", confirmations=500)
    rare = [ranked("c", strong_tokens="search")]
    assert order([one, both, *rare], "qdrant", "search")[0] == "b"


@pytest.mark.spec("R-073")
def test_a_word_of_the_text_counts_more_than_one_of_the_quotes() -> None:
    window = [ranked("a", weak_tokens="qdrant"), ranked("b", strong_tokens="qdrant")]
    assert order(window, "qdrant") == ["b", "a"]


@pytest.mark.spec("R-074")
def test_a_candidate_never_precedes_a_current_record_by_its_match() -> None:
    window = [ranked("a", tier=1, strong_tokens="x y"), ranked("b", strong_tokens="x")]
    assert order(window, "x", "y") == ["b", "a"]


@pytest.mark.spec("R-032")
def test_the_agents_decisions_come_after_the_persons_among_the_current() -> None:
    window = [
        ranked("a", is_agents_decision=True, strong_tokens="x y", confirmations=4),
        ranked("b", strong_tokens="x"),
    ]
    assert order(window, "x", "y") == ["b", "a"]


@pytest.mark.row(39)
def test_a_time_in_the_future_has_no_negative_age() -> None:
    assert boosts(ranked(recorded_at=NOW + 10**12), NOW).recency == 100


@given(RANKED, st.integers(0, 100))
def test_more_points_raise_a_place_as_if_it_were_judged_with_them(one: Ranked, points: int) -> None:
    assert raised(standing(one, NOW), points) == standing(one, NOW, points)


@given(st.lists(RANKED, max_size=30), st.floats(0, 1))
def test_an_order_holds_until_the_first_record_loses_a_point(
    window: list[Ranked], share: float
) -> None:
    until = standings_change_at(window, NOW)
    last = NOW + 400 * DAY_MS if until is None else until - 1
    for then in (NOW + int((last - NOW) * share), last):
        assert [standing(r, then) for r in window] == [standing(r, NOW) for r in window]
    if until is not None:
        later = until + DAY_MS
        assert any(standing(r, later) != standing(r, NOW) for r in window)


@pytest.mark.spec("R-075")
def test_a_file_of_the_branch_and_a_citation_are_together_one_bounded_boost() -> None:
    points = [StartBoosts(file, cited).points for file in (None, "a.py") for cited in (False, True)]
    assert points == [0, 40, 60, 100]


def test_a_record_counts_as_cited_for_a_week_from_its_last_citation() -> None:
    record = ranked(recorded_at=NOW)
    assert cited_until(record, None) == cited_until(record, NOW - DAY_MS) == NOW + 7 * DAY_MS
    assert cited_until(record, NOW + DAY_MS) == NOW + 8 * DAY_MS


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        *(("not PostgreSQL but MySQL", query) for query in ("mysql", "MYSQL", "postgresql")),
        ("mysql", "MySQL"),
        ("SQLite", "sqlite"),
        ("sqlite", "SQLite"),
        ("TypeScript", "typescript"),
        ("typescript", "TypeScript"),
        ("javascript", "java script"),
        ("GitHub", "github"),
        ("iOS", "ios"),
        ("OAuth", "oauth"),
        ("getUserName", "getusername"),
        ("getusername", "getUserName"),
    ],
)
def test_a_name_matches_in_whatever_case_it_is_written(said: str, asked: str) -> None:
    held = ranked("named", strong_tokens=" ".join(words(f"Orders go into {said}.")))
    other = ranked("other", strong_tokens=" ".join(words("Nothing of the kind.")))
    parts = rank_records([(standing(r, NOW), r) for r in (held, other)], significant(asked), NOW)
    assert [[r.id for _, r in part] for part in parts] == [["named"], ["other"]]
