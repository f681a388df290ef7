"""The version stands in pyproject.toml alone; what repeats it has to agree."""

import json
import re
import tomllib
from importlib.metadata import version

import pytest

from tests.support.documents import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_the_newest_release_of_the_changelog_is_this_version() -> None:
    releases = RELEASE.findall((ROOT / "CHANGELOG.md").read_text())
    assert releases[0] == PROJECT
    assert sorted(releases, key=numbers, reverse=True) == releases


def test_the_installed_metadata_is_of_this_version() -> None:
    assert version("mash-plugin") == PROJECT, "run scripts/test, which installs it anew"


def test_both_manifests_name_the_release_in_which_the_plugins_folder_last_changed() -> None:
    """Codex has its hooks reviewed when that folder changes: a release alone must not do that."""
    releases = RELEASE.findall((ROOT / "CHANGELOG.md").read_text())
    said = {json.loads((ROOT / file).read_text())["version"] for file in MANIFESTS}
    assert len(said) == 1
    assert said <= set(releases)


@pytest.mark.parametrize("folder", ["mash_plugin", "hooks", "scripts", "skills"])
def test_no_other_file_states_the_version(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*") if file.is_file()]
    texts = {file: file.read_bytes() for file in files if "__pycache__" not in file.parts}
    stated = re.compile(rb"(?<![\d.])" + re.escape(PROJECT.encode()) + rb"(?![\d.])")
    assert [str(file) for file, text in texts.items() if stated.search(text)] == []
