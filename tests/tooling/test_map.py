"""The map for maintainers cannot rot: what the code knows is written from it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def check(root: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(root / "scripts" / "map"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_picture_of_the_layers_and_the_table_of_requirements_are_those_of_the_code() -> None:
    done = check(ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "run scripts/map"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A project of one package, one requirement and one test, with its map."""
    for folder in ("scripts", "mash_plugin/store", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "scripts" / "map").write_text((ROOT / "scripts" / "map").read_text())
    contract = '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = ["store | wire"]\n'
    (tmp_path / "pyproject.toml").write_text(contract)
    (tmp_path / "mash_plugin" / "store" / "__init__.py").write_text('"""Two files (R-001)."""')
    (tmp_path / "mash_plugin" / "wire.py").write_text('"""The frames."""')
    (tmp_path / "tests" / "spec_ids.txt").write_text("R-001 Three kinds\n")
    marked = '@pytest.mark.spec("R-001")\ndef test_kinds(): ...\n'
    (tmp_path / "tests" / "test_kinds.py").write_text(marked)
    page = "Before\n<!-- layers: scripts/map -->\n<!-- end -->\nAfter\n"
    (tmp_path / "MAINTAINING.md").write_text(page)
    subprocess.run([sys.executable, tmp_path / "scripts" / "map"], check=True, capture_output=True)
    return tmp_path


def test_a_map_shows_layers_in_order_and_where_a_requirement_lives(copy: Path) -> None:
    page = (copy / "MAINTAINING.md").read_text().splitlines()
    store, wire = "─ store          Two files (R-001).", "  wire           The frames."
    assert page[0] == "Before"
    assert page[-1] == "After"
    assert page.index(wire) == page.index(store) + 1
    row = "| R-001 Three kinds | store/__init__.py | test_kinds.py |"
    assert row in (copy / "tests" / "REQUIREMENTS.md").read_text().splitlines()
    assert check(copy).returncode == 0


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("mash_plugin/wire.py", '"""Something else."""'),
        ("tests/test_kinds.py", "def test_kinds(): ...\n"),
        ("tests/spec_ids.txt", "R-001 Three kinds\nR-002 No proof\n"),
    ],
)
def test_a_map_that_differs_from_the_code_is_told(copy: Path, file: str, text: str) -> None:
    (copy / file).write_text(text)
    done = check(copy)
    assert done.returncode == 1
    assert "is out of date" in done.stdout
