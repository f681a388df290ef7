"""The windows that are kept between requests give what reading again would give."""

from hypothesis import given
from hypothesis import strategies as st

from mash_plugin.memory.windows import Windows, prepared
from mash_plugin.records.model import Scope
from mash_plugin.store.records import Head
from tests.conftest import SHOP, Memory, Shop

WORDS = st.lists(st.sampled_from(["src", "ledger", "ledgers", "py", "main"]), max_size=5)
DAY = 86_400_000


def head(number: int, strong: list[str], weak: list[str]) -> Head:
    return Head(
        id=f"r{number}",
        owner="me",
        kind="fact",
        scope_kind="personal",
        scope_value="",
        revision=1,
        review="candidate",
        state="current",
        retired=0,
        decided_by=None,
        effective_at=None,
        valid_until=None,
        recorded_at=number,
        evidence_stale=0,
        confirmations=0,
        strong_tokens=" ".join(strong),
        weak_tokens=" ".join(weak),
        hidden_at=None,
    )


@given(st.lists(st.tuples(WORDS, WORDS), max_size=8), WORDS)
def test_a_record_is_found_by_whole_words_wherever_they_stand(
    texts: list[tuple[list[str], list[str]]], wanted: list[str]
) -> None:
    window = prepared([head(n, *words) for n, words in enumerate(texts)], frozenset(), DAY)
    found = [ranked.id for _, ranked in window.holding(wanted)]
    by_scan = [
        f"r{n}" for n, (strong, weak) in enumerate(texts) if {*strong, *weak}.issuperset(wanted)
    ]
    assert sorted(found) == sorted(by_scan)
    order = [ranked.id for _, ranked in window.ordered]
    assert found == [one for one in order if one in found]


def test_a_kept_window_is_in_the_order_of_the_time_it_is_asked_for(
    memory: Memory, shop: Shop
) -> None:
    for number in range(6):
        memory.established(f"Choice {number}.")
        memory.clock.advance(11 * DAY + number)
    scopes = [Scope("repository", SHOP)]
    kept = Windows()
    for _ in range(200):
        now = memory.clock.advance(DAY // 3)
        with memory.call.store.reading() as db:
            (old,) = kept.find(db, scopes, now)
            (new,) = Windows().find(db, scopes, now)
        assert old.ordered == new.ordered
