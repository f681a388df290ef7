"""Reading a file brings what was recorded about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import fake_anthropic, fake_openai
from tests.support.installed import Installed
from tests.support.saved import decide
from tests.support.tmux import Terminal

pytestmark = pytest.mark.slow
SAID = "Amounts in src/ledger.py stay integers, that's decided."
LEAD = 'Memory that names "src/ledger.py" (mash):'


@pytest.mark.spec("R-123", "R-131")
def test_reading_the_file_in_claude_code_brings_its_record_once_in_a_session(
    person: Installed, clone: Path, open_claude: Callable[[Path], Terminal]
) -> None:
    person.decide(open_claude(clone), SAID, SAID)
    ledger = {"tool": "Read", "input": {"file_path": str(clone / "src" / "ledger.py")}}
    backup = {"tool": "Read", "input": {"file_path": str(clone / "src" / "ledger.py.bak")}}
    person.anthropic.when("Read both", backup, ledger, ledger, {"text": "read them all"})
    person.anthropic.bodies.clear()
    terminal = open_claude(clone)
    terminal.type("Read both")
    terminal.wait_for("read them all")
    contexts = [fake_anthropic.context_of(body) for body in person.anthropic.bodies]
    assert [context.count(LEAD) for context in contexts] == [0, 0, 1, 1]
    assert all("ledger.py.bak" not in context for context in contexts)


@pytest.mark.spec("R-123", "R-131")
def test_reading_the_file_in_codex_brings_its_record_once_in_a_session(
    person: Installed, name: str, clone: Path
) -> None:
    decide(person.home, name, clone, SAID, SAID)
    ledger = {"call": "exec_command", "args": {"cmd": "cat src/ledger.py"}}
    backup = {"call": "exec_command", "args": {"cmd": "cat src/ledger.py.bak"}}
    person.openai.when("Read both", backup, ledger, ledger, {"text": "read them all"})
    assert "read them all" in person.home.codex_exec("Read both", clone).out
    contexts = [fake_openai.context_of(body) for body in person.openai.bodies]
    assert [context.count(LEAD) for context in contexts] == [0, 0, 1, 1]
    assert all("ledger.py.bak" not in context for context in contexts)
