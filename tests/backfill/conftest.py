"""One home for each test, with a daemon of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.backfill_place import BackfillPlace
from tests.support.daemons import Place


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BackfillPlace]:
    for name in ("MASH_HOME", "MASH_TESTING", "MASH_TEST_NOW_MS", "MASH_FAILPOINT"):
        monkeypatch.delenv(name, raising=False)
    place = Place(tmp_path)
    try:
        yield BackfillPlace(place)
    finally:
        place.close()
