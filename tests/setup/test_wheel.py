"""The wheel works with no checkout beside it."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.homes import ROOT
from tests.support.processes import end_processes_of


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `scripts/install` builds it, by pip and hatchling."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (built,) = folder.glob("*.whl")
    return built


def test_hooks_skills_and_manifests_travel_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {f"mash_plugin/plugin/{name}" for name in _plugin_files()}
    assert inside <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]
    assert [name for name in names if name.endswith(".sql")]


def _plugin_files() -> list[str]:
    folders = ("hooks", "skills", ".claude-plugin", ".codex-plugin")
    return [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


def test_an_installed_wheel_sets_up_and_answers_a_hook(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv with ä space"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True, timeout=120)
    python = environment / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps", wheel]
    subprocess.run(pip, check=True, capture_output=True, timeout=120)
    # The libraries of this very environment; a path file gives them to the new one.
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    (own,) = (environment / "lib").glob("python*/site-packages")
    (own / "libraries.pth").write_text(packages + "\n")
    home = tmp_path / "home"
    home.mkdir()
    root = tmp_path / "mash"
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MASH_HOME": str(root)}

    def run(*command: str, stdin: str = "") -> str:
        done = subprocess.run(
            command,
            env=environ,
            cwd=home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        mash = str(environment / "bin/mash")
        where = run(str(python), "-c", "import mash_plugin; print(mash_plugin.__file__)")
        assert where.startswith(str(environment))
        run(mash, "init", "--yes", "--no-agents")
        run(str(python), "-c", RENDER)
        hooks = json.loads((root / "data/marketplace/mash/hooks/hooks.json").read_text())
        command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"]
        environ["CLAUDE_PLUGIN_ROOT"] = str(root / "data/marketplace/mash")
        event = {
            "session_id": "8b79a219-7085-427c-8b3d-c60523823739",
            "transcript_path": os.devnull,
            "cwd": str(home),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        answer = json.loads(run("sh", "-c", command, stdin=json.dumps(event)))
        assert "record" in answer["hookSpecificOutput"]["additionalContext"]
    finally:
        end_processes_of(root)


RENDER = """
import os
from pathlib import Path
from mash_plugin.cli.plugin import launch_of, render, source_folder, write_folder
from mash_plugin.paths import find_paths
paths = find_paths(os.environ)
assert source_folder().name == "plugin", source_folder()
write_folder(render(source_folder(), launch_of(paths)), Path(paths.marketplace))
"""
