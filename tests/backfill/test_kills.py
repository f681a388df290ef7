"""A run that is killed leaves each chat reviewed whole or still to be done, nothing doubled."""

from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.support.backfill_place import FAILPOINTS, BackfillPlace

pytestmark = pytest.mark.slow

KILLS = 20
WHOLE = [("due", 0), ("done", 1)]


@pytest.mark.spec("R-118", "R-147")
def test_kills_at_every_point_of_a_run_lose_nothing_and_double_nothing(
    bench: BackfillPlace,
) -> None:
    for number, point in enumerate(islice(cycle(FAILPOINTS), KILLS)):
        bench.chat(f"We keep amounts in cents, {number}.", f"chat-{number}")
        bench.place.index()
        assert bench.cut(failpoint=point) == -9, point
    assert all(bench.state_of(f"chat-{number}") in WHOLE for number in range(KILLS))
    assert bench.cut() == 0
    assert [bench.state_of(f"chat-{number}") for number in range(KILLS)] == [("done", 1)] * KILLS
    assert len(bench.records()) == KILLS
    assert [path.name for path in Path(bench.place.paths.reviews).iterdir()] == ["lock"]
