"""The rows of scripts/robustness: read, checked against the tree, and written as a table."""

import ast
import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ROWS = ROOT / "tests" / "robustness" / "rows.toml"
TABLE = ROOT / "tests" / "ROBUSTNESS.md"
RESULTS = ROOT / ".cache" / "spec-results"
COUNT = 68
HEAD = """\
# What mash must survive

Written by `scripts/robustness --write` from `tests/robustness/rows.toml` and from the marks
`@pytest.mark.row(N)` of the tests; `tests/tooling/test_robustness.py` fails when they differ.

A hook always exits 0 within its time limit, prints nothing or what its host reads, and keeps
standard error empty. A tool answers with an error that names what was wrong and what to do;
nothing is half written, and the same operation ID may be sent again. Rows say what comes to that.

The last column: the day on which the guard was last taken out and the tests seen to fail
(`scripts/robustness --break ROW`).
"""
Marks = dict[int, list[str]]
"""Row → its tests, as `tests/area/test_file.py::test_name`."""


class Guard(NamedTuple):
    """What keeps the fault harmless, and the change that takes it out."""

    place: str
    """`file:function`, or `file` for what stands in no function."""
    was: str
    becomes: str
    test: str = ""
    """The test that fails without it; any of the row's where this is empty."""

    @property
    def file(self) -> str:
        return self.place.partition(":")[0]


class Row(NamedTuple):
    """One bad input or fault."""

    number: int
    part: str
    fault: str
    outcome: str
    guards: tuple[Guard, ...]
    broken: str = ""
    """When its guards were last taken out and its tests seen to fail."""


def read_rows() -> list[Row]:
    """Every row of the file, in order."""
    given = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    return [_row(body) for body in given["row"]]


def marked_tests(root: Path = ROOT) -> Marks:
    """The tests that carry a `row` mark, read without importing them."""
    found: Marks = {}
    for file in sorted((root / "tests").rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.row(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for number in _numbers(node.decorator_list):
                    name = f"{file.relative_to(root)}::{node.name}"
                    found.setdefault(number, []).append(name)
    return found


def faults(rows: Sequence[Row], marks: Marks) -> list[str]:
    """What is amiss between the rows, the marks and the code."""
    numbers = [row.number for row in rows]
    told = []
    if numbers != list(range(1, COUNT + 1)):
        told.append(f"rows.toml must hold the rows 1 to {COUNT} in order")
    told += [f"{marks[n][0]} is marked with row {n}, which is none" for n in marks.keys() - numbers]
    for row in rows:
        if row.number not in marks:
            told.append(f"row {row.number} has no test: mark one with @pytest.mark.row")
        if not row.guards:
            told.append(f"row {row.number} names no guard")
        told += [f"row {row.number}: {fault}" for fault in map(_misplaced, row.guards) if fault]
        told += [
            f"row {row.number}: {guard.test} is not marked with it"
            for guard in row.guards
            if guard.test and guard.test not in marks.get(row.number, [])
        ]
    return told


def without(text: str, guard: Guard) -> str:
    """The text of the guard's file with the guard taken out. Raises ValueError without it."""
    start, end = _span(text, guard.place.partition(":")[2])
    if text.count(guard.was, start, end) != 1:
        begins = guard.was.strip().splitlines()[0]
        raise ValueError(f"{guard.place} does not hold this guard once: {begins}")
    return text[:start] + text[start:end].replace(guard.was, guard.becomes) + text[end:]


def read_results() -> list[dict[str, Any]]:
    """What became of each test of the last run that is marked with rows."""
    tests: dict[str, dict[str, Any]] = {}
    for file in sorted(RESULTS.glob("*.json")):
        tests |= json.loads(file.read_text(encoding="utf-8"))["tests"]
    return list(tests.values())


def unproven(rows: Sequence[Row], results: Sequence[dict[str, Any]]) -> list[str]:
    """The rows without a test that passed, or with one that failed.

    Some tests need root (another user, a full disk): without it a row may have none that ran.
    """
    told = []
    for row in rows:
        outcomes = {test["outcome"] for test in results if row.number in test["rows"]}
        if "failed" in outcomes:
            told.append(f"row {row.number}: a test failed")
        elif "passed" not in outcomes and (outcomes != {"skipped"} or os.getuid() == 0):
            told.append(f"row {row.number}: no test passed")
    return told


def table(rows: Sequence[Row], marks: Marks) -> str:
    """The rows in Markdown."""
    lines = [HEAD]
    part = ""
    for row in rows:
        if row.part != part:
            part = row.part
            lines.append(f"\n## {part}\n")
            lines.append(
                "| Row | Bad input or fault | What must come of it | Guard | Tests | Broken |"
            )
            lines.append("|---|---|---|---|---|---|")
        guards = "<br>".join(dict.fromkeys(f"`{guard.place}`" for guard in row.guards))
        tests = "<br>".join(
            f"`{name.removeprefix('tests/')}`" for name in marks.get(row.number, [])
        )
        lines.append(
            f"| {row.number} | {row.fault} | {row.outcome} | {guards} | {tests} | {row.broken} |"
        )
    return "\n".join(lines) + "\n"


def _row(body: dict[str, Any]) -> Row:
    guards = tuple(Guard(**guard) for guard in body.pop("guard", []))
    return Row(**body, guards=guards)


def _numbers(decorators: Sequence[ast.expr]) -> Iterator[int]:
    for call in decorators:
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.row":
            yield from (ast.literal_eval(argument) for argument in call.args)


def _misplaced(guard: Guard) -> str:
    """What is wrong with a guard, or nothing."""
    file = ROOT / guard.file
    if not file.exists():
        return f"{guard.place} is gone"
    try:
        without(file.read_text(encoding="utf-8"), guard)
    except ValueError as error:
        return str(error)
    return ""


def _span(text: str, function: str) -> tuple[int, int]:
    """Where the lines of a function begin and end; those of the whole file for none."""
    if not function:
        return 0, len(text)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        is_one = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_one and node.name == function and node.end_lineno:
            before = sum(map(len, lines[: node.lineno - 1]))
            return before, before + sum(map(len, lines[node.lineno - 1 : node.end_lineno]))
    return 0, 0
