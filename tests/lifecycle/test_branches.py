"""The tests of the rules, without a store, take every branch of the rules."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "mash_plugin" / "records"
GUESSES = ("cue",)
"""What a prompt sounds like is guessed, not ruled: it is measured by how often it is right."""
SUITE = ("tests/records", "tests/lifecycle/test_tables.py")


def test_the_rules_are_covered_branch_by_branch(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """In a process of its own: the run around this one may count other tests too."""
    data, report = tmp_path / "data", tmp_path / "report.json"
    settings = tmp_path / "settings"
    settings.write_text(
        f"[run]\nbranch = True\nsource = mash_plugin.records\ndata_file = {data}\n"
        "[report]\nexclude_also =\n    raise AssertionError\n"  # what cannot be
    )
    coverage = [sys.executable, "-m", "coverage"]
    own = [f"--rcfile={settings}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV", "PYTEST"))}
    environment["PYTHONPATH"] = str(ROOT)
    plugins = ["-p", "no:cacheprovider"]
    if pytestconfig.pluginmanager.has_plugin("tests.plugins.spec_results"):
        plugins += ["-p", "tests.plugins.spec_results"]  # `scripts/test` runs them here alone
    for command in (
        [*coverage, "run", *own, "-m", "pytest", "-q", *plugins, *SUITE],
        [*coverage, "json", *own, "-q", "-o", str(report)],
    ):
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    files = json.loads(report.read_text())["files"]
    missed = {
        name: (found["missing_lines"], found["missing_branches"])
        for name, found in files.items()
        if not Path(name).name.startswith(GUESSES)
        and (found["missing_lines"] or found["missing_branches"])
    }
    assert not missed
    measured = {Path(name).name for name in files}
    assert measured == {path.name for path in RULES.glob("*.py")}
