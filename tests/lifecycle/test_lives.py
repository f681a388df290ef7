"""Arbitrary lives of records keep every rule of section 7, and no row of it goes untried."""

import sys

import pytest

from tests.lifecycle.part import Part, run_parts
from tests.lifecycle.pure import Rules
from tests.lifecycle.runs import STEPS, rows_never_taken, run_lives, table_of
from tests.lifecycle.tables import LIVE, ROWS, STATES, Standing, rows_for

RUNS = 500
SEEDS = (7, 11)
"""The same runs everywhere, in as many processes as a small machine has cores."""
MINUTES = 300.0


@pytest.fixture(scope="module")
def rules() -> Part:
    """The runs against the rules alone, in this process: their branches are counted."""
    world = run_lives(lambda _: Rules(), RUNS, SEEDS[0])
    return Part(world.runs, world.steps, world.taken)


@pytest.fixture(scope="module")
def store() -> Part:
    """The runs against the store behind its daemon."""
    return run_parts("served", RUNS, SEEDS, MINUTES)


@pytest.mark.timeout(MINUTES)
@pytest.mark.spec("R-038", "R-033", "R-034", "R-035", "R-047")
def test_the_rules_agree_with_the_tables_in_every_run(rules: Part) -> None:
    assert rules.runs >= RUNS
    assert rules.steps >= RUNS * STEPS


@pytest.mark.timeout(2 * MINUTES)
@pytest.mark.spec("R-009", "R-048", "R-056", "R-057", "R-061")
def test_the_store_behind_the_daemon_agrees_with_the_model_in_every_run(store: Part) -> None:
    assert store.runs >= RUNS
    assert store.steps >= RUNS * STEPS


@pytest.mark.timeout(2 * MINUTES)
@pytest.mark.spec("R-038")
def test_no_row_of_the_tables_went_untaken(
    rules: Part, store: Part, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        sys.stdout.write("\nHow often each row was taken, by the rules alone and by the store:\n")
        sys.stdout.write(table_of(rules.taken, store.taken) + "\n")
    assert not rows_never_taken(rules.taken)
    assert not rows_never_taken(store.taken)


@pytest.mark.spec("R-003", "R-038")
def test_no_move_has_two_rows_that_allow_it() -> None:
    standings = [
        Standing(table, review, state)
        for table in LIVE
        for review in ("candidate", "established")
        for state in STATES[table]
    ]
    for action in ("create", "revise", "supersede"):
        heads = [None] if action == "create" else standings
        for head in heads:
            for new in standings:
                rows = rows_for(head, action, new)
                allowing = [row for row in rows if row.needs != "never"]
                assert len(allowing) <= 1, (head, action, new)
                assert not allowing or len(rows) == 1, (head, action, new)


def test_every_row_speaks_of_some_move() -> None:
    for row in ROWS:
        if row.start is not None:
            starts = row.starts()
            assert starts
            assert any(row.aims(start) for start in starts), row
