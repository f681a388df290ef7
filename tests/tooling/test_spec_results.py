"""The count of proven requirements."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "[pytest]\nmarkers = spec(*ids): requirements\naddopts = --strict-markers\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text(CONFIG)
    (tmp_path / "tests").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("scripts/coverage-of-spec", "tests/spec_ids.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def run_tests(project: Path, text: str) -> subprocess.CompletedProcess[str]:
    (project / "test_it.py").write_text("import pytest\n" + text)
    plugin = ["-p", "tests.plugins.spec_results", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, "test_it.py"],
        cwd=project,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # of ours it needs one alone
        },
        capture_output=True,
        text=True,
    )


def count(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "scripts/coverage-of-spec", *options],
        cwd=project,
        capture_output=True,
        text=True,
    )


def test_only_a_test_that_ran_and_passed_counts(project: Path) -> None:
    run_tests(
        project,
        '@pytest.mark.spec("R-001")\ndef test_a(): pass\n'
        '@pytest.mark.spec("R-002")\ndef test_b(): assert False\n'
        '@pytest.mark.spec("R-003")\ndef test_c(): pytest.skip("no")\n'
        '@pytest.mark.spec("R-004")\n@pytest.mark.xfail\ndef test_d(): assert False\n'
        "@pytest.fixture\ndef f(): raise OSError\n"
        '@pytest.mark.spec("R-005")\ndef test_e(f): pass\n',
    )
    [file] = (project / ".cache" / "spec-results").glob("*.json")
    results = json.loads(file.read_text())["tests"]
    outcomes = {name.split("::")[1]: test["outcome"] for name, test in results.items()}
    assert outcomes == {
        "test_a": "passed",
        "test_b": "failed",
        "test_c": "skipped",
        "test_d": "skipped",
        "test_e": "failed",
    }
    assert count(project).stdout.startswith("1 of 226 requirements")


def test_a_requirement_with_a_failing_test_beside_a_passing_one_does_not_count(
    project: Path,
) -> None:
    run_tests(
        project,
        '@pytest.mark.spec("R-001")\ndef test_a(): pass\n'
        '@pytest.mark.spec("R-001")\ndef test_b(): assert False\n',
    )
    assert count(project).stdout.startswith("0 of 226 requirements")


def test_a_test_with_more_than_five_ids_stops_the_run(project: Path) -> None:
    ids = ", ".join(f'"R-00{n}"' for n in range(1, 7))
    finished = run_tests(project, f"@pytest.mark.spec({ids})\ndef test_a(): pass\n")
    assert finished.returncode == 4
    assert "test_it.py::test_a names 6 requirements, at most 5" in finished.stderr


def test_a_marker_that_names_no_requirement_fails_the_count(project: Path) -> None:
    run_tests(project, '@pytest.mark.spec("R-999")\ndef test_a(): pass\n')
    finished = count(project)
    assert finished.returncode == 1
    assert "a marker names no requirement: R-999" in finished.stdout


def test_a_floor_under_the_count_can_be_asked_for(project: Path) -> None:
    run_tests(project, '@pytest.mark.spec("R-001")\ndef test_a(): pass\n')
    assert count(project, "--fail-under", "1").returncode == 0
    assert count(project, "--fail-under", "2").returncode == 1
