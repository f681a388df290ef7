"""One installed person for the whole run: installing is the slow part; each test has its own
repository, so that no test sees another's records."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.homes import Home, clients_folder
from tests.support.installed import Installed
from tests.support.processes import end_processes_of
from tests.support.tmux import Terminal
from tests.support.trust_hooks import trust_hooks


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Install with the product's own command, then trust Codex's hooks as a person would."""
    root = tmp_path_factory.mktemp("person")
    anthropic, openai = FakeAnthropic(), FakeOpenAI()
    home = Home(root, anthropic.url, openai.url)
    try:
        made = home.mash("init", "--yes")
        assert made.code == 0, made
        before = trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)
        yield Installed(home, anthropic, openai, made.out + made.err, before)
    finally:
        end_processes_of(root.resolve())
        anthropic.stop()
        openai.stop()


@pytest.fixture
def person(installed: Installed) -> Iterator[Installed]:
    """The installed person with fresh scripts for the models; a failed script fails the test."""
    models = (installed.anthropic, installed.openai)
    for model in models:
        model.rules.clear()
        model.bodies.clear()
        model.failures.clear()
    yield installed
    assert [failure for model in models for failure in model.failures] == []


@pytest.fixture
def name(person: Installed) -> str:
    """A repository name that no other test uses."""
    return person.home.new_name()


@pytest.fixture
def clone(person: Installed, name: str) -> Path:
    """One clone of this test's own repository."""
    return person.home.repository(name)[0]


@pytest.fixture
def open_terminal(
    person: Installed, tmp_path: Path
) -> Iterator[Callable[[list[str], Path], Terminal]]:
    """Open programs in terminals; all are ended after the test, whatever happened."""
    opened: list[Terminal] = []

    def open_one(command: list[str], folder: Path) -> Terminal:
        socket = tmp_path / f"tmux{len(opened)}"
        opened.append(Terminal(socket, command, folder, person.home.environment))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


@pytest.fixture
def open_claude(
    person: Installed, open_terminal: Callable[[list[str], Path], Terminal]
) -> Callable[[Path], Terminal]:
    """Claude Code's terminal interface in a project, ready for a prompt."""

    def open_one(folder: Path) -> Terminal:
        terminal = open_terminal(person.home.claude_terminal(), folder)
        terminal.wait_for("❯")
        return terminal

    return open_one


@pytest.fixture
def open_codex(
    person: Installed, open_terminal: Callable[[list[str], Path], Terminal]
) -> Callable[[Path], Terminal]:
    """Codex's terminal interface in a project, ready for a prompt."""

    def open_one(folder: Path) -> Terminal:
        terminal = open_terminal(person.home.codex_terminal(), folder)
        terminal.wait_for("Ask Codex to do anything")
        return terminal

    return open_one
