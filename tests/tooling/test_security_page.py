"""SECURITY.md names for each defence a place in the code and a test, and both are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = re.findall(r"^\| (.+) \| `(\S+\.py):(\w+)` \| `(\S+\.py)::(\w+)` \|$", TEXT, re.MULTILINE)
LINES = TEXT.partition("## Defences")[2].partition("\n## ")[0].splitlines()


@cache
def names_in(file: Path) -> frozenset[str]:
    """What a module defines at its top."""
    found: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def test_every_line_of_its_tables_names_a_place_and_a_test() -> None:
    told = [line for line in LINES if line.startswith("| ") and not line.startswith("| defence ")]
    assert len(told) == len(ROWS) > 50


@pytest.mark.parametrize(("defence", "file", "name", "test_file", "test"), ROWS)
def test_both_are_there(defence: str, file: str, name: str, test_file: str, test: str) -> None:
    places = [folder / file for folder in (ROOT / "mash_plugin", ROOT / "hooks")]
    place = next((place for place in places if place.exists()), None)
    assert place is not None, f"{defence}: there is no {file}"
    assert name in names_in(place), f"{defence}: {file} has no {name}"
    assert test in names_in(ROOT / "tests" / test_file), f"{defence}: {test_file} has no {test}"
