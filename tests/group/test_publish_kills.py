"""Daemons and the server are killed while they publish; nothing is lost, doubled or left."""

import random
from pathlib import Path

import pytest

from tests.support.groups import running_group, running_server
from tests.support.killed_publications import kill_publications

pytestmark = pytest.mark.slow

KILLS = 20
CHANCE = random.Random(1)  # noqa: S311 - only chooses the moment


@pytest.mark.spec("R-174", "R-012")
@pytest.mark.row(66)
def test_after_kills_the_group_holds_the_newest_revision_of_each_record_once(
    tmp_path: Path,
) -> None:
    with running_server() as server, running_group(server, tmp_path / "group") as group:
        found = kill_publications(tmp_path, server, group, KILLS, CHANCE)
    assert found["kills of the server"] == KILLS // 4
    assert found["records published"]
    assert found["records forgotten"]
