"""Many clients at once: one winner for each revision, one effect for each operation."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.lifecycle.conftest import Json, Shop

CLIENTS = 16


@pytest.fixture
def served(shop: Shop) -> Shop:
    """With a daemon."""
    shop.place.start()
    return shop


def at_once(count: int, act: Callable[[int], Json]) -> list[Json]:
    """What this many clients are answered that all ask at the same moment."""
    barrier = Barrier(count)

    def one(number: int) -> Json:
        barrier.wait()
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def send_at_once(shop: Shop, name: str, changes: list[Json]) -> list[Json]:
    """The answers to changes under operations of their own."""
    return at_once(len(changes), lambda n: shop.record(f"{name}, client {n}", changes[n]))


def send_again(shop: Shop, operation: str, change: Json) -> list[Json]:
    """The answers to a hundred sends of one operation."""
    return at_once(100, lambda _: shop.record(operation, change))


def codes(answers: list[Json]) -> Counter[str]:
    return Counter(a["error"]["code"] if "error" in a else "done" for a in answers)


@pytest.mark.spec("R-046")
@pytest.mark.row(41)
def test_of_sixteen_revisions_at_once_exactly_one_is_made_each_time(served: Shop) -> None:
    record = served.record("made", served.create("Keep the parser small."))["id"]
    for revision in range(1, 11):
        changes = [
            served.revise(record, revision, f"Wording {revision} of client {number}.")
            for number in range(CLIENTS)
        ]
        answers = send_at_once(served, f"revision {revision}", changes)
        assert codes(answers) == {"done": 1, "revision_conflict": CLIENTS - 1}
        for answer in answers:
            if "error" in answer:
                assert answer["error"]["details"]["current_revision"] == revision + 1
        [winner] = [n for n, answer in enumerate(answers) if "error" not in answer]
        head = served.head(record)
        assert head["revision"] == revision + 1
        assert head["statement"] == f"Wording {revision} of client {winner}."


@pytest.mark.spec("R-046", "R-049")
@pytest.mark.row(41)
def test_of_sixteen_successors_at_once_exactly_one_takes_the_place(served: Shop) -> None:
    old = served.record("made", served.create("Keep the parser small."))["id"]
    answers = at_once(
        CLIENTS,
        lambda number: served.record(
            f"supersede by {number}", served.revise(old, 1, f"Choice {number}.", "supersede")
        ),
    )
    assert codes(answers) == {"done": 1, "revision_conflict": CLIENTS - 1}
    assert all(a["error"]["details"]["current_revision"] == 2 for a in answers if "error" in a)
    records = {item["id"]: item["state"] for item in served.everything()}
    [winner] = [a for a in answers if "error" not in a]
    assert records == {old: "superseded", winner["id"]: "active"}


@pytest.mark.spec("R-046", "R-053", "R-058")
@pytest.mark.row(41)
def test_every_sort_of_change_at_once_leaves_one_story(served: Shop) -> None:
    record = served.record("made", served.create("Keep the parser small."))
    others = [
        served.record(f"other {n}", served.create(f"Another choice, {n}.")) for n in range(CLIENTS)
    ]
    old = record["id"]
    makers: list[Callable[[int], Json]] = [
        lambda n: served.revise(old, 1, f"Wording of client {n}."),
        lambda n: served.revise(old, 1, f"Choice of client {n}.", "supersede"),
        lambda _: served.change("confirm", old, 1, evidence=served.endorsed(1)),
        lambda n: served.link(record, others[n]),
        lambda n: served.link(others[n], record, "supports"),
        lambda _: served.change("forget", old, 1, evidence=served.endorsed()),
    ]
    answers = at_once(
        CLIENTS, lambda n: served.record(f"change of {n}", makers[n % len(makers)](n))
    )
    told = codes(answers)
    assert set(told) <= {"done", "revision_conflict", "forgotten"}
    movers = [n for n in range(CLIENTS) if n % len(makers) in (0, 1, 5)]
    assert sum("error" not in answers[n] for n in movers) == 1
    [winner] = [n for n in movers if "error" not in answers[n]]
    linked = {
        (others[n]["id"], "outgoing" if n % len(makers) == 3 else "incoming")
        for n in range(CLIENTS)
        if n % len(makers) in (3, 4) and "error" not in answers[n]
    }
    if winner % len(makers) == 5:
        assert served.ask("get_record", {"id": old})["error"]["code"] == "forgotten"
        for other in others:
            assert served.ask("get_record", {"id": other["id"]})["links"] == []
        return
    found = served.ask("get_record", {"id": old})
    links = {(one["id"], one["direction"]) for one in found["links"]}
    if winner % len(makers) == 1:
        links -= {(answers[winner]["id"], "incoming")}
    assert links == linked
    assert found["record"]["revision"] == 2


@pytest.mark.spec("R-053", "R-059")
@pytest.mark.row(41)
def test_no_link_of_sixteen_at_once_is_lost(served: Shop) -> None:
    record = served.record("made", served.create("Keep the parser small."))
    others = [
        served.record(f"other {n}", served.create(f"Another choice, {n}.")) for n in range(CLIENTS)
    ]
    answers = at_once(
        CLIENTS, lambda n: served.record(f"link {n}", served.link(others[n], record, "supports"))
    )
    assert codes(answers) == {"done": CLIENTS}
    links = served.ask("get_record", {"id": record["id"]})["links"]
    assert {one["id"] for one in links} == {other["id"] for other in others}
    assert all(one["direction"] == "incoming" for one in links)


@pytest.mark.spec("R-051", "R-060")
def test_confirmations_at_once_count_each_message_once(served: Shop) -> None:
    record = served.record("made", served.create("Keep the parser small."))["id"]
    answers = at_once(
        CLIENTS,
        lambda n: served.record(
            f"confirm {n}",
            served.change("confirm", record, 1, evidence=served.endorsed(1 + n % 3)),
        ),
    )
    assert codes(answers) == {"done": CLIENTS}
    assert sum(answer["confirmations_added"] for answer in answers) == 3
    assert served.head(record)["confirmations"] == 3


@pytest.mark.spec("R-061", "R-062", "R-065")
@pytest.mark.row(40)
def test_one_operation_sent_a_hundred_times_at_once_has_one_effect(served: Shop) -> None:
    first = served.create("Keep the parser small.")
    answers = send_again(served, "once", first)
    assert codes(answers) == {"done": 100}
    assert Counter(answer["replayed"] for answer in answers) == {False: 1, True: 99}
    receipts = [{**answer, "replayed": True} for answer in answers]
    assert all(receipt == receipts[0] for receipt in receipts)
    record = receipts[0]["id"]
    assert [item["id"] for item in served.everything()] == [record]

    other = at_once(CLIENTS, lambda n: served.record("once", served.create(f"Other text {n}.")))
    assert codes(other) == {"operation_conflict": CLIENTS}

    for at in range(1, 6):
        revision = served.revise(record, at, f"Keep the parser very small, {at}.")
        answers = send_again(served, f"more {at}", revision)
        assert codes(answers) == {"done": 100}
        assert served.head(record)["revision"] == at + 1

    forget = served.change("forget", record, 6, evidence=served.endorsed())
    answers = send_again(served, "gone", forget)
    assert codes(answers) == {"done": 100}
    for operation, change in (("once", first), ("more 5", revision)):
        assert codes([served.record(operation, change)]) == {"forgotten": 1}
    assert served.everything() == []
    assert codes([served.record("anew", first)]) == {"done": 1}


@pytest.mark.spec("R-061")
@pytest.mark.parametrize("operation", ["", " ", "x" * 201, "x" * 10_240, "a\0b", "\0", "a\nb"])
@pytest.mark.row(40)
def test_an_operation_id_that_nobody_can_name_is_refused(served: Shop, operation: str) -> None:
    answer = served.record(operation, served.create("Keep the parser small."))
    assert answer["error"]["code"] in ("invalid_argument", "too_large")
    assert served.everything() == []
