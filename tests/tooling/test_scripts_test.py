"""`scripts/test`: its usage, and an environment that is whole or made anew."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("tmux", "git", "zsh", "fish", "postgres", "chromium")
PYTHON = """\
#!/bin/sh
case "$*" in
"-m venv .venv") echo venv >>made; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
*"pip install"*) echo libraries >>made; exec [ ! -e is-broken-off ] ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With commands that do nothing, but for a Python that notes what is made with it."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/test", tmp_path / "scripts/test")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "bin").mkdir()
    for name, text in (("python3", PYTHON), *((name, "#!/bin/sh\n") for name in NEEDED)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def run(checkout: Path, *options: str) -> str:
    path = f"{checkout}/bin:/usr/bin:/bin"
    given = {"PATH": path, "MASH_TEST_CLIENTS": "/clients", "MASH_TEST_AXE": "/axe"}
    command = [checkout / "scripts/test", *options]
    done = subprocess.run(
        command, env=given, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout


def made(checkout: Path) -> list[str]:
    return (checkout / "made").read_text().split()


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_its_usage_is_printed_and_nothing_is_made(checkout: Path, option: str) -> None:
    before = sorted(os.listdir(checkout))
    shown = run(checkout, option)
    assert "scripts/test [--help] [--yes] [--fast | --cover] [pytest arguments]" in shown
    assert not any(line.startswith(("#", "set ")) for line in shown.splitlines())
    assert sorted(os.listdir(checkout)) == before


def test_an_environment_that_was_broken_off_is_made_anew(checkout: Path) -> None:
    (checkout / "is-broken-off").touch()
    run(checkout, "tests/none")
    (checkout / "is-broken-off").unlink()
    run(checkout, "tests/none")
    assert made(checkout) == ["venv", "libraries"] * 2


def test_a_whole_environment_is_kept_and_gets_what_a_new_version_needs(checkout: Path) -> None:
    for _ in range(2):
        run(checkout, "tests/none")
    assert made(checkout) == ["venv", "libraries"]
    (checkout / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    run(checkout, "tests/none")
    assert made(checkout) == ["venv", "libraries", "libraries"]


def test_the_rules_are_run_by_the_test_that_looks_at_their_branches() -> None:
    from tests.lifecycle.test_branches import SUITE

    text = (ROOT / "scripts/test").read_text()
    assert "RULES=tests/records\n" in text
    assert "tests/records" in SUITE
