"""A pytest plugin: write which requirements and rows each test names, and whether it passed."""

import json
import os
from pathlib import Path

import pytest

MOST_IDS = 5
ROWS = range(1, 69)


class SpecResults:
    """Collects one outcome for each test that carries a `spec` or a `row` marker."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.tests: dict[str, dict[str, object]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        wrong = []
        for item in items:
            ids = sorted({name for mark in item.iter_markers("spec") for name in mark.args})
            rows = sorted({row for mark in item.iter_markers("row") for row in mark.args})
            if len(ids) > MOST_IDS:
                wrong.append(f"{item.nodeid} names {len(ids)} requirements, at most {MOST_IDS}")
            if not all(row in ROWS for row in rows):
                wrong.append(f"{item.nodeid} names a row that is none of 1 to {len(ROWS)}")
            if ids or rows:
                self.tests[item.nodeid] = {"ids": ids, "rows": rows, "outcome": "not run"}
        if wrong:
            raise pytest.UsageError("\n".join(wrong))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            self.tests.pop(item.nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests.get(report.nodeid)
        if test is None:
            return
        if report.failed:
            test["outcome"] = "failed"
        elif report.skipped:
            test["outcome"] = "skipped"
        elif report.when == "call" and test["outcome"] == "not run":
            test["outcome"] = "passed"

    def pytest_sessionfinish(self) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"tests": self.tests}, indent=1, sort_keys=True)
        self.target.write_text(text + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector; each process writes a file into `.cache/spec-results/`."""
    target = config.rootpath / ".cache" / "spec-results" / f"{os.getpid()}.json"
    config.pluginmanager.register(SpecResults(target), "spec-results")
