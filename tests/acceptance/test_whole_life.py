"""From the first installation to the last byte of the uninstall, with both real clients."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.setup.terminals import on_a_terminal
from tests.support import fake_openai
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.homes import Home, clients_folder
from tests.support.installation import Installation
from tests.support.installed import Installed
from tests.support.processes import end_processes_of, processes_of
from tests.support.tmux import Terminal
from tests.support.trust_hooks import trust_hooks
from tests.support.wheels import (
    checkout_before,
    copy_checkout,
    lend_libraries,
    quick_python,
    wheel_of,
)

pytestmark = pytest.mark.slow

SAID = "Let's use Postgres 16 for the ledger, decided."
STATEMENT = "The ledger uses Postgres 16."


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Installed]:
    """A person with settings of their own and nothing of mash."""
    anthropic, openai = FakeAnthropic(), FakeOpenAI()
    home = Home(tmp_path / "person", anthropic.url, openai.url)
    try:
        yield Installed(home, anthropic, openai, "", {})
    finally:
        end_processes_of(home.root)
        anthropic.stop()
        openai.stop()


def settings_of(home: Home) -> dict[str, bytes]:
    """The files of both agents that a person writes."""
    files = (home.claude / "settings.json", home.codex / "config.toml")
    return {str(file): file.read_bytes() for file in files}


def traces(home: Home) -> list[str]:
    """What still speaks of the plugin in the agents' folders, but for what was said there."""
    said = ("projects", "sessions", "log", "logs", "shell-snapshots", "backups", "history.jsonl")
    return [
        str(path)
        for folder in (home.claude, home.codex, home.home)
        for path in folder.rglob("*")
        if path.is_file()
        and not {*path.parts} & {*said}
        and not path.name.startswith(("logs_", "state_", "history"))
        and b"mash@mash" in path.read_bytes()
    ]


def codex_is_told(person: Installed, folder: Path, statement: str) -> bool:
    assert person.home.codex_exec("Look around", folder).code == 0
    return statement in fake_openai.context_of(person.openai.bodies[-1])


@pytest.mark.spec("R-152", "R-155")
def test_installed_used_upgraded_exported_wiped_imported_and_left_without_a_trace(
    person: Installed,
    tmp_path: Path,
    open_terminal_of: Callable[[Home, Path], Terminal],
) -> None:
    home, codex = person.home, str(clients_folder() / "codex")
    here, there = home.repository(home.new_name(), clones=2)
    add_to_settings(home)
    before = settings_of(home)
    python = quick_python(tmp_path / "python")
    mash = Installation(home, lend_libraries(tmp_path / "libraries"), python)

    done = mash.install(wheel_of(checkout_before(tmp_path / "before"), tmp_path))
    assert done.code == 0, done
    trust_hooks(codex, home.home, home.environment)
    former = mash.current
    terminal = open_terminal_of(home, here)
    receipt = person.decide(terminal, SAID, STATEMENT)
    terminal.close()
    assert "error" not in receipt
    assert codex_is_told(person, there, STATEMENT)

    done = mash.mash("upgrade", str(wheel_of(copy_checkout(tmp_path / "now"), tmp_path)))
    assert done.code == 0, done
    assert mash.current != former
    if "/hooks" in done.out:
        trust_hooks(codex, home.home, home.environment)
    assert codex_is_told(person, there, STATEMENT)
    assert mash.mash("doctor").code == 0, mash.mash("doctor").out

    export = tmp_path / "memory.gz"
    assert mash.mash("export", "--out", str(export)).code == 0
    mash.mash("daemon", "stop")
    for file in mash.data.glob("*.db*"):
        file.unlink()
    for file in (mash.data / "backups").glob("*"):
        file.unlink()
    assert not codex_is_told(person, there, STATEMENT)
    refused = mash.mash("import", str(export), "--as-mine", "--yes")
    assert (refused.code, "asks you" in refused.err) == (2, True)
    command = (str(mash.data / "current/bin/mash"), "import", str(export), "--as-mine")
    code, shown = on_a_terminal(home, "y\n", *command)
    assert code == 0, shown
    assert codex_is_told(person, there, STATEMENT)
    (record,) = json.loads(mash.mash("records", "--json").out)["records"]
    assert (record["statement"], record["review"]) == (STATEMENT, "established")

    done = mash.mash("uninstall", "--yes", "--data")
    assert done.code == 0, done
    assert settings_of(home) == before
    assert traces(home) == []
    assert not home.mash_home.exists()
    assert not [c for c in processes_of(home.root).values() if "mash_plugin" in c]
    assert export.stat().st_size > 0


def add_to_settings(home: Home) -> None:
    """Settings of the person's own, with comments and an order that no program would choose."""
    codex = home.codex / "config.toml"
    codex.write_text(f"# Mine, with a comment\n{codex.read_text()}\n# the end\n")
    (home.claude / "settings.json").write_text('{\n     "theme" : "dark",\n  "env": {}}')


@pytest.fixture
def open_terminal_of(tmp_path: Path) -> Iterator[Callable[[Home, Path], Terminal]]:
    """Claude Code's terminal interface of a person in a project, ended after the test."""
    opened: list[Terminal] = []

    def open_one(home: Home, folder: Path) -> Terminal:
        terminal = Terminal(tmp_path / "tmux", home.claude_terminal(), folder, home.environment)
        opened.append(terminal)
        terminal.wait_for("❯")
        return terminal

    yield open_one
    for terminal in opened:
        terminal.close()
