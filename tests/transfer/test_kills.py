"""An import, an export or a restore that is killed is done whole or not at all, and done once."""

import shutil
from itertools import cycle, islice
from pathlib import Path

import pytest

from mash_plugin.errors import DaemonUnavailable
from mash_plugin.store.checks import store_report
from mash_plugin.store.restore import restore
from tests.conftest import NOW, Memory
from tests.support.cut_transfers import (
    IMPORT_POINTS,
    MODES,
    RESTORE_POINTS,
    TABLES,
    empty,
    home,
    run,
    state_of,
)
from tests.support.daemons import Place
from tests.support.killed_transfers import forget_since_backup, records_of
from tests.transfer.conftest import Json, a_memory, export, rows_of, take_in

pytestmark = pytest.mark.slow

KILLS = 20


@pytest.fixture
def file(memory: Memory, told: Json, tmp_path: Path) -> Path:
    path = tmp_path / "export"
    export(memory, path)
    return path


@pytest.mark.spec("R-161", "R-162", "R-163")
def test_kills_at_every_point_of_an_import_lose_nothing_and_double_nothing(
    file: Path, tmp_path: Path
) -> None:
    with a_memory(tmp_path / "whole") as memory:
        take_in(memory, file)
    whole = state_of(tmp_path / "whole")
    nothing = dict.fromkeys(TABLES, 0)
    root = tmp_path / "cut"
    for number, point in enumerate(islice(cycle(IMPORT_POINTS), KILLS)):
        mode = MODES[number % len(MODES)]
        empty(root)
        run("import", root, str(file), mode, "a", failpoint=point)
        left = state_of(root)
        is_done = point == "import_after_commit"
        assert left.counts == (whole.counts if is_done else nothing), point
        with a_memory(root, "b") as memory:
            again = take_in(memory, file, mode)
        assert (again["already"] is not None) is is_done, point
        assert state_of(root) == whole, point


@pytest.mark.spec("R-161")
@pytest.mark.row(60)
def test_a_killed_export_leaves_no_file_of_that_name(file: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "here", tmp_path / "out"
    with a_memory(root) as memory:
        take_in(memory, file, "identity")
        before = rows_of(memory)
    run("export", root, str(out), failpoint="export_before_name")
    assert not out.exists()
    assert (tmp_path / ".out.part").exists()
    run("export", root, str(out))
    assert not (tmp_path / ".out.part").exists()
    with a_memory(tmp_path / "new", "n") as new:
        take_in(new, out, "identity")
        assert rows_of(new) == before


@pytest.mark.spec("R-065", "R-064")
def test_kills_at_every_point_of_a_restore_lose_nothing_and_bring_back_nothing_forgotten(
    tmp_path: Path,
) -> None:
    lived = tmp_path / "lived"
    forget_since_backup(home(lived))
    root = tmp_path / "cut"
    for number, point in enumerate(islice(cycle(RESTORE_POINTS), KILLS)):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(lived, root)
        run("restore", root, failpoint=point)
        paths = home(root)
        if point == "restore_set_aside":
            report = store_report(paths)
            assert (report.state, bool(report.restore_command)) == ("missing", True)
        else:
            assert records_of(paths) == {"kept"}, point
        done = restore(paths, None, NOW)
        assert done.forgotten_again is not None, number
        assert records_of(paths) == {"kept"}, point
        asides = list(Path(paths.data).glob("records.db.before-restore-*"))
        assert asides, "the former store was not kept"
        assert not Path(paths.store + ".restoring").exists()


@pytest.mark.spec("R-161", "R-163")
@pytest.mark.parametrize("point", ["import_record", "import_after_commit"])
@pytest.mark.row(62)
def test_a_daemon_that_is_killed_in_an_import_does_it_once(
    file: Path, tmp_path: Path, point: str
) -> None:
    place = Place(tmp_path / "person")
    request = {"path": str(file), "mode": "identity"}
    try:
        daemon = place.start(MASH_FAILPOINT=f"{point}:kill")
        with pytest.raises(DaemonUnavailable) as caught:
            place.call("import_export", request, start=False)
        assert caught.value.details == {"outcome": "unknown"}
        assert daemon.wait(20.0) == -9
        place.start()
        done = place.call("import_export", request, start=False)
        assert (done["already"] is not None) is (point == "import_after_commit")
        again = place.call("import_export", request, start=False)
        assert again["already"]["records"] == 5
        listed = place.call("list_records", {"include_inactive": True, "limit": 50})["records"]
        assert len(listed) == 5
    finally:
        place.close()
