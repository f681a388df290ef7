"""Whatever a store has lived through, it comes back as itself from its export."""

import itertools
from pathlib import Path

import pytest

from tests.support.exported_lives import export_lives

pytestmark = pytest.mark.slow

RUNS = 3
SEED = 31


@pytest.mark.spec("R-161", "R-162", "R-163", "R-064", "R-065")
def test_arbitrary_lives_come_back_exactly(tmp_path: Path) -> None:
    seen = export_lives(tmp_path, RUNS, SEED)
    for table in ("records", "links", "confirmations", "receipts", "record_tombstones"):
        assert any(counts[table] for counts in seen), f"no run has brought {table}"
    assert any(b["links"] > a["links"] for a, b in itertools.pairwise(seen))
