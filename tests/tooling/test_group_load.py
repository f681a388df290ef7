"""scripts/group-load fills a group and times shared reads there; here with a handful of records."""

import re
import subprocess

from tests.support.daemons import ROOT


def test_a_small_group_is_filled_and_every_kind_of_page_is_timed() -> None:
    size = ("--nodes", "4", "--records", "400", "--readers", "4", "--seconds", "6", "--pause", "1")
    done = subprocess.run(
        [str(ROOT / "scripts" / "group-load"), *size], capture_output=True, text=True, timeout=180
    )
    assert not done.stderr, done.stderr
    first, heading, *rows = done.stdout.splitlines()
    assert first.startswith("4 nodes, 400 records, ")
    assert heading.split()[-4:] == ["pages", "p50", "p99", "worst"]
    named = {re.split(r"\s{2,}", row)[0].removesuffix(", deep") for row in rows}
    assert {"everything", "a repository", "a chat", "retracted candidates", "one record"} <= named
    assert all(float(row.split()[-1]) > 0 for row in rows)
