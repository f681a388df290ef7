"""Notes that travel with a prompt: the reminder to save, and the safety net."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import fake_anthropic, fake_openai
from tests.support.installed import Installed
from tests.support.tmux import Terminal

pytestmark = pytest.mark.timeout(240)
LASTING = "From now on always run the linter before committing."
ORDINARY = "Fix the failing test"
READS_LASTING = "mash: this reads like a lasting preference or decision"
SWEEP = "mash: anything lasting of this session not saved yet?"


@pytest.mark.spec("R-125")
def test_a_standing_preference_in_claude_code_brings_the_save_note_in_the_same_request(
    person: Installed, clone: Path, open_claude: Callable[[Path], Terminal]
) -> None:
    person.anthropic.when(LASTING, {"text": "from now on, then"})
    person.anthropic.when(ORDINARY, {"text": "test is fixed"})
    terminal = open_claude(clone)
    terminal.type(ORDINARY)
    terminal.wait_for("test is fixed")
    assert READS_LASTING not in fake_anthropic.context_of(person.anthropic.bodies[-1])
    terminal.type(LASTING)
    terminal.wait_for("from now on, then")
    context = fake_anthropic.context_of(person.anthropic.bodies[-1])
    assert context.count(READS_LASTING) == 1
    assert len(person.anthropic.bodies) == 2


@pytest.mark.spec("R-125")
def test_a_standing_preference_in_codex_brings_the_save_note_in_the_same_request(
    person: Installed, clone: Path, open_codex: Callable[[Path], Terminal]
) -> None:
    person.openai.when(LASTING, {"text": "from now on, then"})
    person.openai.when(ORDINARY, {"text": "test is fixed"})
    terminal = open_codex(clone)
    terminal.type(ORDINARY)
    terminal.wait_for("test is fixed")
    assert READS_LASTING not in fake_openai.context_of(person.openai.bodies[-1])
    terminal.type(LASTING)
    terminal.wait_for("from now on, then")
    context = fake_openai.context_of(person.openai.bodies[-1])
    assert context.count(READS_LASTING) == 1
    assert len(person.openai.bodies) == 2


@pytest.mark.spec("R-126", "R-127")
def test_the_safety_net_travels_with_one_prompt_of_claude_code_after_fifteen_minutes(
    person: Installed, clone: Path, open_claude: Callable[[Path], Terminal]
) -> None:
    terminal = open_claude(clone)
    contexts = []
    for number, minutes in enumerate((0, 14, 1, 1)):
        person.home.move_clock(minutes)
        person.anthropic.when(f"prompt {number}", {"text": f"reply {number}"})
        terminal.type(f"prompt {number}")
        terminal.wait_for(f"reply {number}")
        contexts.append(fake_anthropic.context_of(person.anthropic.bodies[-1]))
    assert [context.count(SWEEP) for context in contexts] == [0, 0, 1, 1]
    assert len(person.anthropic.bodies) == 4  # the end of a turn never asked for another one


@pytest.mark.spec("R-126", "R-127")
def test_the_safety_net_travels_with_one_prompt_of_codex_after_fifteen_minutes(
    person: Installed, clone: Path, open_codex: Callable[[Path], Terminal]
) -> None:
    terminal = open_codex(clone)
    contexts = []
    for number, minutes in enumerate((0, 14, 1, 1)):
        person.home.move_clock(minutes)
        person.openai.when(f"prompt {number}", {"text": f"reply {number}"})
        terminal.type(f"prompt {number}")
        terminal.wait_for(f"reply {number}")
        contexts.append(fake_openai.context_of(person.openai.bodies[-1]))
    assert [context.count(SWEEP) for context in contexts] == [0, 0, 1, 1]
    assert len(person.openai.bodies) == 4
