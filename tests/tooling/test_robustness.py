"""The table of bad inputs and faults tells what the rows, the marks and the code say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = """
[[row]]
number = {number}
part = "Part"
fault = "a fault"
outcome = "an outcome"
[[row.guard]]
place = "guard.py:hold"
was = "if is_bad:"
becomes = "if False:"
"""
GUARD = "def hold(is_bad):\n    if is_bad:\n        return None\n"
TEST = "import pytest\n\n\n@pytest.mark.row({rows})\ndef test_it():\n    pass\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tree whose one test proves every row."""
    for folder in ("scripts", "tests/robustness", ".cache/spec-results"):
        (tmp_path / folder).mkdir(parents=True)
    for script in (ROOT / "scripts").glob("robustness*"):
        (tmp_path / "scripts" / script.name).write_text(script.read_text())
    rows = "".join(ROW.format(number=number) for number in range(1, 69))
    (tmp_path / "tests/robustness/rows.toml").write_text(rows)
    (tmp_path / "guard.py").write_text(GUARD)
    mark(tmp_path, *range(1, 69))
    assert check(tmp_path, "--write").returncode == 0
    return tmp_path


def mark(project: Path, *rows: int) -> None:
    text = TEST.format(rows=", ".join(map(str, rows)))
    (project / "tests/test_rows.py").write_text(text)


def check(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/robustness", *options]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def results(project: Path, **outcomes: str) -> None:
    """As the plugin writes them: row 1 has these tests, every other row one that passed."""
    others = {"ids": [], "rows": list(range(2, 69)), "outcome": "passed"}
    first = {name: {"ids": [], "rows": [1], "outcome": said} for name, said in outcomes.items()}
    body = {"tests": {"others": others, **first}}
    (project / ".cache/spec-results/1.json").write_text(json.dumps(body))


def test_the_table_of_this_tree_is_up_to_date() -> None:
    finished = check(ROOT)
    assert finished.stdout == "68 rows are in order.\n"
    assert finished.returncode == 0


def test_a_table_that_differs_from_the_marks_is_told(project: Path) -> None:
    assert check(project).stdout == "68 rows are in order.\n"
    text = (project / "tests/test_rows.py").read_text().replace("test_it", "test_other")
    (project / "tests/test_rows.py").write_text(text)
    finished = check(project)
    assert finished.returncode == 1
    assert "tests/ROBUSTNESS.md is not up to date: scripts/robustness --write" in finished.stdout


def test_a_row_without_a_test_and_a_mark_without_a_row_are_told(project: Path) -> None:
    mark(project, *range(2, 70))
    finished = check(project)
    assert finished.returncode == 1
    assert "row 1 has no test" in finished.stdout
    assert "tests/test_rows.py::test_it is marked with row 69, which is none" in finished.stdout


@pytest.mark.parametrize(
    "text", ["", "def hold(is_bad):\n    return None\n", GUARD.replace("is_bad:", "not is_bad:")]
)
def test_a_guard_that_is_gone_or_was_changed_is_told(project: Path, text: str) -> None:
    (project / "guard.py").write_text(text or GUARD.replace("hold", "other"))
    finished = check(project)
    assert finished.returncode == 1
    assert "row 68: guard.py:hold does not hold this guard once: if is_bad:" in finished.stdout


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ({"a": "passed"}, ""),
        ({"a": "passed", "b": "skipped"}, ""),
        ({"a": "skipped"}, "" if os.getuid() else "row 1: no test passed"),
        ({"a": "not run"}, "row 1: no test passed"),
        ({"a": "passed", "b": "failed"}, "row 1: a test failed"),
    ],
)
def test_a_row_counts_when_a_test_of_it_passed_and_none_failed(
    project: Path, outcomes: dict[str, str], told: str
) -> None:
    results(project, **outcomes)
    finished = check(project, "--results")
    assert finished.stdout == (told or "68 rows are in order.") + "\n"
    assert finished.returncode == bool(told)


def test_a_mark_with_a_number_of_no_row_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST.format(rows=69))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = row(number): a row\n")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.plugins.spec_results", "test_it.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 4
    assert "names a row that is none of 1 to 68" in finished.stderr
