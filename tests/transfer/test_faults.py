"""A disk that fills up or fails in the middle of an import leaves nothing of it, or all."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import LocalFailure
from tests.conftest import Memory
from tests.store.faulty_vfs import FaultyVFS, faulty_vfs
from tests.transfer.conftest import Json, a_memory, export, rows_of, take_in

MOST = 400
STEP = 3
"""Every third call: the others fail alike, and each takes a store of its own."""


@pytest.fixture
def faults() -> Iterator[FaultyVFS]:
    with faulty_vfs() as vfs:
        yield vfs


@pytest.mark.spec("R-161")
@pytest.mark.parametrize("site", ["xWrite", "xSync"])
def test_a_fault_at_any_call_of_an_import_leaves_nothing_or_all(
    memory: Memory, told: Json, tmp_path: Path, faults: FaultyVFS, site: str
) -> None:
    file = tmp_path / "export"
    export(memory, file)
    outcomes = set()
    for at in range(1, MOST, STEP):
        root = tmp_path / f"{site}-{at}"
        with a_memory(root) as new:
            nothing = rows_of(new)
            faults.arm(site, at, apsw.SQLITE_FULL, is_lasting=True)
            try:
                take_in(new, file)
            except LocalFailure as error:
                outcomes.add(error.code)
            finally:
                has_failed = faults.has_failed
                faults.disarm()
        with a_memory(root, "b") as new:
            if rows_of(new)["records"] == []:
                assert rows_of(new) == nothing
            take_in(new, file)
            assert len(rows_of(new)["records"]) == 5
        if not has_failed:
            break
    assert at > STEP
    assert "disk_full" in outcomes
