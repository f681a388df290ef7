"""Take guards out, one at a time, and see that the tests of their row fail."""

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from robustness_rows import ROOT, ROWS, Guard, Marks, Row, without

LONGEST_S = 300
"""Far over every time limit of a test."""


class Place:
    """A clone of the last commit with an environment of its own, since daemons take their code
    from the environment and not from the folder that they are started in."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        clone = ["git", "clone", "--quiet", "--shared", str(ROOT), str(self.tree)]
        subprocess.run(clone, check=True)
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv" / "bin" / "python"
        libraries = next(path for path in map(Path, sys.path) if path.name == "site-packages")
        [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
        (packages / "tree.pth").write_text(f"{self.tree}\n{libraries}\n")
        for script in Path(sys.executable).parent.glob("m*a*"):  # mash, meaning-memory
            body = script.read_text(encoding="utf-8").partition("\n")[2]
            copy = self.python.parent / script.name
            copy.write_text(f"#!{self.python}\n{body}", encoding="utf-8")
            copy.chmod(0o755)

    def fails(self, tests: Sequence[str]) -> bool:
        """Whether one of the tests fails there."""
        command = [str(self.python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        group = subprocess.Popen(
            command,
            cwd=self.tree,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said, _ = group.communicate(timeout=LONGEST_S)
        if group.returncode not in (0, 1):
            raise RuntimeError(f"pytest did not run:\n{said}")
        return group.returncode == 1

    def fails_without(self, guard: Guard, tests: Sequence[str]) -> bool:
        """Whether one of the tests fails when the guard is not there."""
        file = self.tree / guard.file
        before = file.read_text(encoding="utf-8")
        try:
            file.write_text(without(before, guard), encoding="utf-8")
            return self.fails([guard.test] if guard.test else tests)
        finally:
            file.write_text(before, encoding="utf-8")


def break_guards(rows: Sequence[Row], marks: Marks, wanted: set[int]) -> int:
    """Take the guards of these rows out (of all, where none is named); 1 if one was not missed.

    The day is noted in the rows that pass.
    """
    proven: list[int] = []
    chosen = [row for row in rows if not wanted or row.number in wanted]
    with tempfile.TemporaryDirectory(prefix="mash-rows-") as folder:
        place = Place(Path(folder))
        for row in chosen:
            tests = marks.get(row.number, [])
            are_missed = [_tell(place, row, guard, tests) for guard in row.guards]
            proven += [row.number] if all(are_missed) else []
    _note(proven)
    return 0 if len(proven) == len(chosen) else 1


def _tell(place: Place, row: Row, guard: Guard, tests: Sequence[str]) -> bool:
    is_missed = place.fails_without(guard, tests)
    word = "fails without" if is_missed else "DOES NOT MISS"
    print(f"row {row.number} {word} {guard.place}", flush=True)
    return is_missed


def _note(proven: Sequence[int]) -> None:
    """Write the day into the rows, whose text stays as it is."""
    text = ROWS.read_text(encoding="utf-8")
    line = f"broken = '{datetime.now(UTC).date()}'\n"
    for number in proven:
        head = rf"(\nnumber = {number}\n(?:.+\n)*?outcome = .+\n)(?:broken = .+\n)?"
        text = re.sub(head, lambda found: found[1] + line, text)
    ROWS.write_text(text, encoding="utf-8")
