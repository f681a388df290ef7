"""Whatever becomes of a session, each text reaches its model with one prompt, and once."""

import json
import os
import re
import signal
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import fake_anthropic, fake_openai, saved
from tests.support.homes import Home
from tests.support.installed import Installed
from tests.support.model_server import Body, ModelServer, Step
from tests.support.polling import eventually
from tests.support.processes import daemons_of
from tests.support.saving import session_in_note
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
SAID = "Amounts in src/ledger.py stay integers, that's decided."
LASTING = "From now on always run the linter before committing."
TEXTS = {
    "records": "Memory of this project (mash",
    "saving": "Saving memory: use",
    "changed": "New or changed in this project's memory (mash)",
    "file": "Memory that names ",
    "lasting": "mash: this reads like a lasting preference or decision",
    "sweep": "of this session not saved yet",
}
START = {"records": 1, "saving": 1}
Told = dict[str, int]
Open = Callable[[Path], Terminal]


def told(body: Body) -> Told:
    """How often each text stands in the whole request, whoever is said to have said it."""
    request = json.dumps(body, ensure_ascii=False)
    return {name: count for name, text in TEXTS.items() if (count := request.count(text))}


@dataclass
class Talk:
    """A person at a terminal, and the model behind it."""

    terminal: Terminal
    model: ModelServer

    def say(self, prompt: str, *steps: Step) -> Told:
        """Type this prompt; what the last request of its turn held."""
        reply = f"reply {uuid.uuid4().hex[:8]}"
        self.model.when(re.escape(prompt), *steps, {"text": reply})
        self.terminal.type(prompt)
        self.terminal.wait_for(reply)
        return told(self.model.bodies[-1])

    def compact(self) -> None:
        self.terminal.type("/compact")
        self.terminal.wait_for("Compacted", "compacted")

    def clear(self) -> None:
        before = self.terminal.screen()
        (last,) = re.findall(r"reply \w{8}", before)[-1:]
        self.terminal.type("/clear")
        eventually(lambda: last not in self.terminal.screen(), "the screen is not cleared")


@pytest.fixture
def decided(person: Installed, name: str, clone: Path) -> Path:
    """A clone of a repository about which something was decided."""
    decide(person.home, name, clone)
    return clone


def decide(home: Home, name: str, clone: Path) -> str:
    """Save a decision that was made in a chat of its own; its statement."""
    statement = f"Amounts in src/ledger.py are integers, {uuid.uuid4()}."
    saved.decide(home, name, clone, SAID, statement)
    return statement


@pytest.mark.spec("R-123", "R-125", "R-126", "R-127", "R-130")
def test_a_long_life_of_claude_code_is_told_everything_once(
    person: Installed, name: str, decided: Path, open_claude: Open
) -> None:
    home, model = person.home, person.anthropic
    read = ["Read", {"file_path": str(decided / "src" / "ledger.py")}]
    wait = f"while [ ! -e {decided}/go ]; do sleep 0.1; done"
    work = {"tool": "Bash", "input": {"command": wait, "run_in_background": True}}
    talk = Talk(open_claude(decided), model)
    assert talk.say("Begin with it", work) == START
    assert talk.say(LASTING) == START | {"lasting": 1}
    known = START | {"lasting": 1, "file": 1}
    assert talk.say("Read it twice at once", {"tools": [read, read]}) == known
    home.move_clock(14)
    assert talk.say("Too soon for it") == known
    home.move_clock(2)
    (decided / "go").touch()
    notified = model.wait_for(lambda body: "<task-notification>" in json.dumps(body["messages"]))
    assert told(notified) == known
    assert talk.say("Later on") == known | {"sweep": 1}
    assert talk.say("And then") == known | {"sweep": 1}
    talk.compact()
    assert talk.say("Read it again", {"tools": [read, read]}) == START | {"file": 1}
    talk.clear()
    assert talk.say("Something else") == START
    # Two for each turn with a tool, one for the notification and one for the compaction.
    assert len(model.bodies) == 13

    session = session_in_note(fake_anthropic.context_of(model.bodies[-1]))
    talk.terminal.type("/exit")
    talk.terminal.wait_for_end()
    decide(home, name, decided)
    home.claude_print("Go on", decided, "--resume", session)
    assert told(model.bodies[-1]) == START | {"changed": 1}
    home.claude_print("Try it", decided, "--resume", session, "--fork-session")
    assert told(model.bodies[-1]) == {"records": 2, "saving": 2, "changed": 1}
    assert fake_anthropic.context_of(model.bodies[-1]).count(f'"session_id":"{session}"') == 1


@pytest.mark.spec("R-123", "R-125", "R-126", "R-127", "R-130")
def test_a_long_life_of_codex_is_told_everything_once(
    person: Installed, name: str, decided: Path, open_codex: Open
) -> None:
    home, model = person.home, person.openai
    read = {"call": "exec_command", "args": {"cmd": "cat src/ledger.py"}}
    talk = Talk(open_codex(decided), model)
    assert talk.say("Begin with it") == START
    assert talk.say(LASTING) == START | {"lasting": 1}
    known = START | {"lasting": 1, "file": 1}
    assert talk.say("Read it twice at once", {"items": [read, read]}) == known
    home.move_clock(14)
    assert talk.say("Too soon for it") == known
    home.move_clock(2)
    eventually(lambda: has_ended(newest_of_codex(home)), "the turn goes on: no /review is taken")
    talk.terminal.type(f"/review {LASTING}")
    talk.terminal.wait_for("Code review finished")
    assert told(model.bodies[-1]) == {}
    assert talk.say("Later on") == known | {"sweep": 1}
    assert talk.say("And then") == known | {"sweep": 1}
    talk.compact()
    assert talk.say("Read it again", {"items": [read, read]}) == START | {"file": 1}
    talk.clear()
    assert talk.say("Something else") == START
    assert len(model.bodies) == 12

    session = session_in_note(fake_openai.context_of(model.bodies[-1]))
    talk.terminal.type("/quit")
    talk.terminal.wait_for_end()
    decide(home, name, decided)
    home.run("codex", "exec", "resume", session, "Go on", cwd=decided)
    assert told(model.bodies[-1]) == START | {"changed": 1}
    home.run("codex", "exec", "fork", session, "Try it", cwd=decided)
    assert told(model.bodies[-1]) == {"records": 2, "saving": 2, "changed": 1}
    assert fake_openai.context_of(model.bodies[-1]).count(f'"session_id":"{session}"') == 1
    newest = decide(home, name, decided)
    full = ("-c", "model_auto_compact_token_limit=500")
    home.run("codex", "exec", "resume", *full, session, "Go on in brief", cwd=decided)
    assert told(model.bodies[-1]) == START | {"changed": 1}
    assert fake_openai.context_of(model.bodies[-1]).count(newest) == 1


@pytest.mark.spec("R-123", "R-130", "R-132")
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_what_a_start_could_not_tell_while_the_daemon_hung_comes_with_a_later_prompt_once(
    person: Installed, decided: Path, open_claude: Open, open_codex: Open, agent: str
) -> None:
    model: ModelServer = person.anthropic if agent == "claude-code" else person.openai
    daemons = daemons_of(person.home.root)

    def go_on(_body: Body) -> dict[str, str]:  # by now both hooks have given up
        for pid in daemons:
            os.kill(pid, signal.SIGCONT)
        return {"text": "I go on"}

    for pid in daemons:
        os.kill(pid, signal.SIGSTOP)
    try:
        talk = Talk((open_claude if agent == "claude-code" else open_codex)(decided), model)
        model.when("Begin without it", go_on)
        talk.terminal.type("Begin without it")
        talk.terminal.wait_for("I go on")
        assert told(model.bodies[0]) == {}
    finally:
        go_on({})
    assert talk.say("Now with it") == START
    assert talk.say("And further") == START


@pytest.mark.spec("R-127", "R-129")
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_the_same_work_takes_as_many_turns_and_requests_without_the_plugin(
    person: Installed, decided: Path, tmp_path: Path, agent: str
) -> None:
    bare = Home(tmp_path / "bare", person.anthropic.url, person.openai.url)
    (clone,) = bare.repository("repository1")
    with_plugin, requests = work(person, agent, person.home, decided)
    assert told(requests[-1]) == START | {"lasting": 1, "file": 1, "sweep": 1}
    without, bare_requests = work(person, agent, bare, clone)
    assert told(bare_requests[-1]) == {}
    assert (with_plugin, len(requests)) == (without, len(bare_requests))


def work(
    person: Installed, agent: str, home: Home, clone: Path
) -> tuple[list[tuple[str, str]], list[Body]]:
    """Two prompts that every note comes with: the turns as the client wrote them, the requests."""
    if agent == "codex":
        model: ModelServer = person.openai
        model.when(LASTING, {"call": "exec_command", "args": {"cmd": "cat src/ledger.py"}})
        home.codex_exec(LASTING, clone)
        home.move_clock(16)
        home.run("codex", "exec", "resume", "--last", "Later on", cwd=clone)
        written = newest_of_codex(home)
    else:
        model = person.anthropic
        session = str(uuid.uuid4())
        model.when(LASTING, {"tool": "Read", "input": {"file_path": "src/ledger.py"}})
        home.claude_print(LASTING, clone, "--session-id", session)
        home.move_clock(16)
        home.claude_print("Later on", clone, "--resume", session)
        (written,) = (home.claude / "projects").rglob(f"{session}.jsonl")
    requests, model.bodies = model.bodies, []
    return turns(written), requests


def newest_of_codex(home: Home) -> Path:
    """The transcript of the session that was begun last."""
    return max((home.codex / "sessions").rglob("*.jsonl"), key=lambda file: file.name)


def has_ended(transcript: Path) -> bool:
    """Whether Codex has done with the last turn, whose reply it shows before."""
    text = transcript.read_text()
    return text.count('"task_started"') == text.count('"task_complete"') > 0


def turns(transcript: Path) -> list[tuple[str, str]]:
    """The kinds of what a person, a model and its tools said, and where turns begin and end."""
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]
    said = [(line["type"], line.get("payload") or line.get("message") or {}) for line in lines]
    kinds = [(kind, str(what.get("type")), str(what.get("role"))) for kind, what in said]
    return [
        (kind, what)
        for kind, what, role in kinds
        if (kind in ("user", "assistant", "response_item") and role != "developer")
        or what.startswith("task_")
    ]


def is_saved(home: Home, session: str) -> bool:
    """Whether the daemon has written down what it showed to this session."""
    store = sqlite3.connect(f"file:{home.mash_home}/data/records.db?mode=ro", uri=True)
    try:
        found = "SELECT last_full_block_at FROM hook_sessions WHERE session_id = ?"
        return store.execute(found, (session,)).fetchone() is not None
    finally:
        store.close()


@pytest.mark.spec("R-126", "R-127")
def test_two_terminals_on_one_session_share_one_reminder_though_the_daemon_was_killed(
    person: Installed, clone: Path, open_terminal: Callable[[list[str], Path], Terminal]
) -> None:
    home, model = person.home, person.anthropic
    home.claude_print("Begin with it", clone)
    session = session_in_note(fake_anthropic.context_of(model.bodies[-1]))
    eventually(lambda: is_saved(home, session), "the session is not saved")
    for pid in daemons_of(home.root):
        os.kill(pid, signal.SIGKILL)
    home.move_clock(16)
    model.bodies.clear()
    resume = [*home.claude_terminal(), "--resume", session]
    terminals = {word: open_terminal(resume, clone) for word in ("here", "there")}
    for word, terminal in terminals.items():
        model.when(f"Later {word}", {"text": f"reply {word}"})
        terminal.wait_for("❯")
        terminal.write(f"Later {word}")
    for terminal in terminals.values():
        terminal.press("Enter")
    for word, terminal in terminals.items():
        terminal.wait_for(f"reply {word}")
    first, second = sorted(map(told, model.bodies), key=len)
    assert (first, second) == ({"saving": 1}, {"saving": 1, "sweep": 1})
