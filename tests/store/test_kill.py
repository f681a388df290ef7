"""Killing the writing process loses nothing that was acknowledged."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from mash_plugin.paths import Paths
from mash_plugin.store.backup import quick_check
from mash_plugin.store.open import open_store
from tests.store.conftest import finish_check
from tests.store.saving import NOW, saved

KILLS = 20
ROOT = Path(__file__).parents[2]


@pytest.mark.spec("R-183")
@pytest.mark.row(29)
def test_twenty_kills_lose_no_acknowledged_write(paths: Paths) -> None:
    chance = random.Random(183)  # noqa: S311 - only chooses the moment
    acknowledged: set[int] = set()
    for _ in range(KILLS):
        acknowledged |= write_and_kill(paths, after=chance.randrange(1, 25))
        assert os.path.exists(paths.store + "-open")
        store = open_store(paths, NOW)
        finish_check(store)
        assert store.problem is None
        with store.reading() as db:
            assert quick_check(db.raw) is None
        found = saved(store)
        assert acknowledged <= found
        assert len(found - acknowledged) <= KILLS
        acknowledged = found
        store.close()
    assert found == set(range(len(found)))
    assert not os.path.exists(paths.store + "-open")


def write_and_kill(paths: Paths, after: int) -> set[int]:
    """The numbers that the process said it saved, until it was killed."""
    command = [sys.executable, "-m", "tests.store.writer", str(paths.home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        said = {int(writer.stdout.readline()) for _ in range(after)}
        writer.kill()
        # It went on until the signal came; a line cut short was never said.
        said |= {int(line) for line in writer.stdout if line.endswith("\n")}
    return said
