"""The demonstration: two channels, in a folder that is gone afterwards."""

import os
import subprocess
import sys
import time


def test_the_chat_knows_what_the_nightly_job_did_and_nothing_is_left(tmp_path):
    (tmp_path / "tmp").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment |= {"TMPDIR": str(tmp_path / "tmp"), "MM_WORKSPACE": "/nowhere"}
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "mash_plugin", "demo", "throughline"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert time.monotonic() - begun < 10
    assert f"$ export MM_CONFIG_DIR={tmp_path}/tmp/mash-demo-" in done.stdout
    assert "capture-session: 3 artifact(s) queued for bakery-bot" in done.stdout
    assert "consolidate: 3 drained, 0 already stored, 0 failed" in done.stdout
    assert "Decided to order the rye flour by mail" in done.stdout
    assert "# Session recall `stock-2026-11-29` — 3 row(s), newest first" in done.stdout
    assert "Reorder what runs low" not in done.stdout
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]
