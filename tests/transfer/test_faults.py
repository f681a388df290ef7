"""A disk that fills up or fails in the middle of an import leaves nothing of it, or all."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mash_plugin.errors import InvalidState, LocalFailure
from mash_plugin.transfer.export import Wanted, export_store
from mash_plugin.transfer.meter import Meter
from tests.conftest import Memory
from tests.crash.faults import Faults
from tests.crash.watched import faulty_vfs
from tests.transfer.conftest import (
    Json,
    a_memory,
    chats_of,
    export,
    lines_of,
    rows_of,
    take_in,
    write_lines,
)

pytestmark = pytest.mark.slow

MOST = 400
STEP = 3
"""Every third call: the others fail alike, and each takes a store of its own."""


@pytest.fixture
def faults() -> Iterator[Faults]:
    with faulty_vfs() as vfs:
        yield vfs


@pytest.mark.spec("R-161")
@pytest.mark.parametrize("site", ["xWrite", "xSync"])
def test_a_fault_at_any_call_of_an_import_leaves_nothing_or_all(
    memory: Memory, told: Json, tmp_path: Path, faults: Faults, site: str
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


class ShortMeter(Meter):
    """Breaks the work off after so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._left = steps

    def reach(self, done: int) -> None:
        self._left -= 1
        if self._left < 0:
            self.break_off()
        super().reach(done)


@pytest.mark.spec("R-161", "R-163")
def test_an_import_that_is_broken_off_anywhere_leaves_nothing_of_it(
    memory: Memory, told: Json, other: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "export"
    export(memory, file)
    nothing = rows_of(other), chats_of(other)
    steps = 0
    while True:
        try:
            take_in(other, file, "identity", meter=ShortMeter(steps))
            break
        except InvalidState:
            assert (rows_of(other), chats_of(other)) == nothing, steps
        steps += 1
    assert steps > 2 * len(lines_of(file))
    assert len(rows_of(other)["records"]) == 5


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_what_was_taken_back_leaves_no_large_log(
    memory: Memory, told: Json, other: Memory, tmp_path: Path, is_dry_run: bool
) -> None:
    file = tmp_path / "export"
    export(memory, file)
    lines = lines_of(file)
    first = next(n for n, line in enumerate(lines) if line["is"] == "message")
    message = lines[first] | {"text": "x" * 1_000_000}
    lines[first:first] = [message | {"id": f"m{number}"} for number in range(8)]
    write_lines(file, list(lines))
    if is_dry_run:
        take_in(other, file, is_dry_run=True)
    else:
        with pytest.raises(InvalidState):
            take_in(other, file, meter=ShortMeter(2 * len(lines)))
    log = Path(other.call.chats.database.path + "-wal")
    assert log.stat().st_size == 0


def test_an_export_that_is_broken_off_leaves_no_file(
    memory: Memory, told: Json, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    meter = ShortMeter(5)
    with pytest.raises(InvalidState):
        export_store(memory.call_now(), str(folder / "export"), Wanted(), meter)
    assert list(folder.iterdir()) == []
    whole = Meter()
    export_store(memory.call_now(), str(folder / "export"), Wanted(), whole)
    told_of = whole.as_json()
    assert told_of["done"] == told_of["total"] > 0
