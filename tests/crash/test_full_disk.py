"""A disk that is really full, with a bit more room each time: refused whole, or done whole."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.crash import failing, power
from tests.crash.all_work import WORK
from tests.support.small_disk import fill, needs_root, pass_in_a_namespace, small_disk

pytestmark = pytest.mark.slow

MEGABYTES = 16
ROOM = (0, 1 << 12, 1 << 14, 1 << 16, 1 << 18)
BUSY = ("records", "captures", "indexing", "importing", "exporting", "backups", "restoring")


@needs_root
@pytest.mark.spec("R-183")
@pytest.mark.parametrize("work", BUSY)
def test_work_on_a_full_disk_claims_nothing_false_and_goes_on_once_there_is_room(
    work: str, tmp_path: Path
) -> None:
    came: Counter[str] = Counter()
    with small_disk(tmp_path / "disk", MEGABYTES) as disk:
        recorded = power.record(WORK[work](disk / "work"))
        for room in ROOM:
            recorded.journal.lay(recorded.journal.image(0, None))
            filler = fill(disk, but=room)
            done, refusal = failing.run(recorded)
            filler.unlink()
            came[failing.judge(recorded, done, refusal)] += 1
    assert came["disk_full"], came


@pytest.mark.skipif(os.geteuid() == 0, reason="the tests above have run as root")
def test_the_tests_above_pass_in_a_user_namespace(tmp_path: Path) -> None:
    pass_in_a_namespace(__file__, tmp_path)
