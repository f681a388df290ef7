"""Arbitrary lives of records keep every rule of section 7, and no row of it goes untried."""

import sys

import pytest

from tests.lifecycle.machine import STEPS
from tests.lifecycle.part import Part, run_parts
from tests.lifecycle.runs import rows_never_taken, table_of

pytestmark = pytest.mark.slow

RUNS = 500
STORE_RUNS = 125
"""They cost fifteen times as much; `scripts/soak lifecycle` has them by the thousand."""
SEEDS = (7, 11, 13, 17)
"""The same runs everywhere; each seed has a process of its own, and of the store a daemon."""
CEILING_S = 900.0
"""Far over what it takes, about a minute on two idle cores."""


@pytest.fixture(scope="module")
def rules() -> Part:
    """The runs against the rules alone."""
    return run_parts("pure", RUNS, SEEDS, CEILING_S)


@pytest.fixture(scope="module")
def store() -> Part:
    """The runs against the store behind its daemon."""
    return run_parts("served", STORE_RUNS, SEEDS, CEILING_S)


@pytest.mark.timeout(CEILING_S)
@pytest.mark.spec("R-038", "R-033", "R-034", "R-035", "R-047")
def test_the_rules_agree_with_the_tables_in_every_run(rules: Part) -> None:
    assert rules.runs >= RUNS
    assert rules.steps >= RUNS * STEPS


@pytest.mark.timeout(2 * CEILING_S)
@pytest.mark.spec("R-009", "R-048", "R-056", "R-057", "R-061")
def test_the_store_behind_the_daemon_agrees_with_the_model_in_every_run(store: Part) -> None:
    assert store.runs >= STORE_RUNS
    assert store.steps >= STORE_RUNS * STEPS


@pytest.mark.timeout(2 * CEILING_S)
@pytest.mark.spec("R-038")
def test_no_row_of_the_tables_went_untaken(
    rules: Part, store: Part, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        sys.stdout.write("\nHow often each row was taken, by the rules alone and by the store:\n")
        sys.stdout.write(table_of(rules.taken, store.taken) + "\n")
    assert not rows_never_taken(rules.taken)
    assert not rows_never_taken(store.taken)
