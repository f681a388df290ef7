"""A pytest plugin: write which requirements each test names, and whether it ran and passed."""

import json
import os
from pathlib import Path

import pytest

MOST_IDS = 5


class SpecResults:
    """Collects one outcome for each test that carries a `spec` marker."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.tests: dict[str, dict[str, object]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        crowded = []
        for item in items:
            ids = sorted({name for mark in item.iter_markers("spec") for name in mark.args})
            if len(ids) > MOST_IDS:
                crowded.append(f"{item.nodeid} names {len(ids)} requirements, at most {MOST_IDS}")
            if ids:
                self.tests[item.nodeid] = {"ids": ids, "outcome": "not run"}
        if crowded:
            raise pytest.UsageError("\n".join(crowded))

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
