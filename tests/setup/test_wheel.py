"""The wheel holds all that is needed with no checkout beside it; test_upgrade.py installs it."""

import zipfile
from pathlib import Path

from tests.support.homes import ROOT


def test_hooks_skills_and_manifests_travel_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {f"mash_plugin/plugin/{name}" for name in _plugin_files()}
    assert inside <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]
    assert [name for name in names if name.endswith(".sql")]
    pages = ROOT / "mash_plugin" / "dashboard"
    files = [*pages.glob("templates/*.html"), *pages.glob("static/*")]
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names


def _plugin_files() -> list[str]:
    folders = ("hooks", "skills", ".claude-plugin", ".codex-plugin")
    return [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
