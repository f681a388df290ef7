"""A client is found on PATH, but not one that the project could bring."""

import os
from pathlib import Path

import pytest

from mash_plugin.agents import plugin
from mash_plugin.agents.plugin import find_command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone that brings a `claude`, in which one stands."""
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    (made / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    bring(made / "bin")
    (made / "src").mkdir()
    monkeypatch.chdir(made / "src")
    return made


def bring(folder: Path) -> str:
    folder.mkdir()
    (folder / "claude").touch(0o755)
    return str(folder)


@pytest.mark.parametrize("planted", ["../bin", "{project}/bin", "{link}", ":../bin:."])
def test_what_a_project_brings_is_no_client(project: Path, tmp_path: Path, planted: str) -> None:
    (tmp_path / "link").symlink_to(project / "bin")
    path = planted.format(project=project, link=tmp_path / "link")
    assert find_command("claude", {"PATH": path}) is None
    own = bring(tmp_path / "own")
    assert find_command("claude", {"PATH": f"{path}:{own}"}) == f"{own}/claude"


def test_a_home_under_version_control_is_no_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "passwd_home", lambda: str(project / "src"))
    assert find_command("claude", {"PATH": f"{project}/bin"}) == f"{project}/bin/claude"


def test_a_client_is_found_from_a_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = bring(tmp_path / "own")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    try:
        assert find_command("claude", {"PATH": own}) == f"{own}/claude"
    finally:
        os.chdir(tmp_path)
