"""A pytest plugin: write which requirements and rows each test names, and whether it passed."""

import json
import os
from pathlib import Path

import pytest

MOST_IDS = 5
ROWS = range(1, 69)
PROVES = "proves"


class SpecResults:
    """Collects one outcome for each test that carries a `spec` or a `row` marker."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.tests: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        named = dict(report.user_properties).get(PROVES)
        if named is None:
            return
        outcomes = [self.tests.get(report.nodeid, {}).get("outcome"), report.outcome]
        worst = next(kind for kind in ("failed", "skipped", "passed") if kind in outcomes)
        self.tests[report.nodeid] = {**named, "outcome": worst}

    def pytest_sessionfinish(self) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"tests": self.tests}, indent=1, sort_keys=True)
        self.target.write_text(text + "\n", encoding="utf-8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test's report what the test names: it may come from another process."""
    wrong = []
    for item in items:
        ids = sorted({name for mark in item.iter_markers("spec") for name in mark.args})
        rows = sorted({row for mark in item.iter_markers("row") for row in mark.args})
        if len(ids) > MOST_IDS:
            wrong.append(f"{item.nodeid} names {len(ids)} requirements, at most {MOST_IDS}")
        if not all(row in ROWS for row in rows):
            wrong.append(f"{item.nodeid} names a row that is none of 1 to {len(ROWS)}")
        if ids or rows:
            item.user_properties.append((PROVES, {"ids": ids, "rows": rows}))
    if wrong:
        raise pytest.UsageError("\n".join(wrong))


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector where reports arrive; each run writes into `.cache/spec-results/`."""
    if not hasattr(config, "workerinput"):
        target = config.rootpath / ".cache" / "spec-results" / f"{os.getpid()}.json"
        config.pluginmanager.register(SpecResults(target), "spec-results")
