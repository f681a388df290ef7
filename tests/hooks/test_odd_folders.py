"""A hook answers whatever has become of the folder that its agent stands in."""

import os
from pathlib import Path

import pytest

from tests.support.daemons import Place, event

LONG = "/".join(["/w", *["x" * 200] * 20])
NAMES = {
    "quotes": 'it\'s "so"; touch planted; $(touch planted) `touch planted`',
    "line end": "two\nlines",
    "no UTF-8": os.fsdecode(b"\xff\xfe"),
}


@pytest.mark.parametrize("kind", ["gone", "closed", "link", "long", *NAMES])
@pytest.mark.row(6)
def test_a_hook_answers_wherever_the_agent_stands(served: Place, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / NAMES.get(kind, kind)
    match kind:
        case "closed":
            folder.mkdir(0o000)
        case "link":
            (tmp_path / "project").mkdir()
            folder.symlink_to("project")
        case "long":
            folder = Path(LONG)
        case "gone":
            pass
        case _:
            folder.mkdir()
    session = f"in-{kind.replace(' ', '-')}"
    body = event("SessionStart", session_id=session, cwd=str(folder), source="startup")
    ran = served.hook("session-start", body)
    assert ran.is_harmless()
    assert b"Saving memory" in ran.out
    assert not list(tmp_path.rglob("planted"))
    hooks = [line for line in Path(served.paths.log).read_text().splitlines() if " hook" in line]
    assert all(line.endswith("failure=-") for line in hooks)
