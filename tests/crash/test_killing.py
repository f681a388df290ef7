"""Kills of a daemon at work lose nothing that was acknowledged, and hurt no hook."""

import random
from pathlib import Path

import pytest

from tests.crash.killing import kill_daemons
from tests.support.daemons import Place

pytestmark = pytest.mark.slow

KILLS = 20


@pytest.mark.spec("R-183", "R-064")
def test_kills_at_failpoints_and_any_moment_lose_and_double_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    try:
        found = kill_daemons(place, KILLS, random.Random(9))  # noqa: S311 - moments, not secrets
        assert sum(found.values()) == KILLS
        assert len(found) == 6
    finally:
        place.close()
