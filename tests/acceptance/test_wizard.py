"""The whole wizard on a screen: from two agents with chats to a memory that both are told of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import fake_anthropic
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.homes import Home, clients_folder
from tests.support.model_server import ModelServer
from tests.support.processes import end_processes_of
from tests.support.reviewing import TASK, claude_review, codex_review
from tests.support.tmux import Terminal
from tests.support.trust_hooks import trust_hooks

pytestmark = pytest.mark.slow
CHOICE = "From now on we keep every amount in cents."
STATEMENT = "Amounts are kept in cents."


@dataclass
class Newcomer:
    """A person who works with both agents and has nothing of mash yet."""

    home: Home
    anthropic: FakeAnthropic
    openai: FakeOpenAI
    project: Path
    terminals: list[Terminal] = field(default_factory=list)

    def open(self, *command: str, **environment: str) -> Terminal:
        socket = self.home.root.parent / f"tmux{len(self.terminals)}"
        environ = self.home.environment | environment
        terminal = Terminal(socket, list(command), self.project, environ)
        self.terminals.append(terminal)
        return terminal

    def calls(self) -> int:
        return len(self.anthropic.bodies) + len(self.openai.bodies)


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    anthropic, openai = FakeAnthropic(), FakeOpenAI()
    home = Home(tmp_path / "person", anthropic.url, openai.url)
    made = Newcomer(home, anthropic, openai, home.repository(home.new_name())[0])
    try:
        yield made
        assert anthropic.failures + openai.failures == []
    finally:
        for terminal in made.terminals:
            terminal.close()
        end_processes_of(home.root)
        anthropic.stop()
        openai.stop()


def says_the_choice(newcomer: Newcomer) -> None:
    """The person decides something in Claude Code, before there is any memory."""
    newcomer.anthropic.when("every amount", {"text": "Understood, in cents."})
    terminal = newcomer.open(*newcomer.home.claude_terminal())
    terminal.wait_for("❯")
    terminal.type(CHOICE)
    terminal.wait_for("Understood, in cents.")
    terminal.close()


def answer(terminal: Terminal, question: str, typed: str) -> str:
    """Wait for a question, type the answer; the screen with the question."""
    shown = terminal.wait_for(question)
    terminal.press(*([typed] if typed else []), "Enter")
    return shown


@pytest.mark.spec("R-141", "R-142", "R-150", "R-152", "R-153")
@pytest.mark.parametrize(
    ("reviewer", "term"), [("claude-code", "xterm-256color"), ("codex", "dumb")]
)
def test_a_person_sets_everything_up_and_an_earlier_chat_is_remembered(
    newcomer: Newcomer, reviewer: str, term: str
) -> None:
    home = newcomer.home
    says_the_choice(newcomer)
    model: ModelServer = newcomer.anthropic if reviewer == "claude-code" else newcomer.openai
    review = claude_review if reviewer == "claude-code" else codex_review
    model.when(TASK, *review((STATEMENT, CHOICE)))
    before = newcomer.calls()

    wizard = newcomer.open("mash", "init", TERM=term)
    shown = answer(wizard, "Go on?", "")
    assert "Claude Code (" in shown
    assert ": 1 chat, " in shown
    assert "Codex (" in shown
    assert "`mash uninstall` leaves the agents as they were." in shown
    assert not home.mash_home.exists()
    answer(wizard, "Add it?", "y")
    answer(wizard, "Show them?", "")
    shown = answer(wizard, "Who shall review them?", reviewer)
    assert "1 to review (about" in shown
    title = "Claude Code" if reviewer == "claude-code" else "Codex"
    shown = answer(wizard, "Review them now?", "y")
    notice = f"A backfill uses tokens of your {title} account, and sends the text"
    assert notice in " ".join(shown.split())
    wizard.wait_for("so that mash is loaded.", timeout_s=120)
    wizard.wait_for_end()
    whole = wizard.everything()
    (home.root.parent / f"screen-{reviewer}-{term}.txt").write_text(whole)
    for line in (
        "Chats: 1 file,",
        "Claude Code: plugin installed",
        "Codex: plugin installed",
        "Claude Code: it uses the tools of mash without asking now.",
        "1 chat reviewed, 1 candidate saved.",
        "`mash records --all` shows them",
        "The newest record: decision (unconfirmed",
        f"  {STATEMENT}",
        "Claude Code: checked, a hook answers.",
        "Codex: checked, a hook answers.",
        "Restart Claude Code and Codex now",
    ):
        assert line in whole
    review = "it shows 'Hooks need review' by itself; look at the hooks of mash and trust them."
    assert review in " ".join(whole.split())
    assert "Traceback" not in whole
    (record,) = home.records("repository1")
    assert (record["statement"], record["status"]) == (STATEMENT, "candidate")
    assert STATEMENT in home.mash("records", "--all").out
    assert newcomer.calls() > before

    calls = newcomer.calls()
    again = newcomer.open("mash", "init", TERM=term)
    answer(again, "Go on?", "")
    again.wait_for("No agent had to be changed; none needs a restart.")
    assert "Set up already:" in again.everything()
    assert newcomer.calls() == calls


def test_what_the_wizard_set_up_works_in_a_session_of_both_agents(newcomer: Newcomer) -> None:
    home = newcomer.home
    wizard = newcomer.open("mash", "init", "--allow-saving", "--personal", "--no-backfill")
    answer(wizard, "Go on?", "y")
    wizard.wait_for("so that mash is loaded.")
    trust_hooks(str(clients_folder() / "codex"), home.home, home.environment)
    assert home.claude_print("Look around", newcomer.project).code == 0
    assert home.codex_exec("Look around", newcomer.project).code == 0
    assert "Saving memory: use" in fake_anthropic.context_of(newcomer.anthropic.bodies[-1])
    assert "Saving memory: use" in json.dumps(newcomer.openai.bodies[-1])
    status = home.mash("status").out
    assert status.count("last hook 20") == 2
