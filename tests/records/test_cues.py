"""Which prompts bring the saving note, and when the safety net is due."""

import time
from pathlib import Path

import pytest

from mash_plugin.records.cues import reads_lasting, reminder_due

FIXTURES = Path(__file__).parent.parent / "fixtures"
MINUTE = 60_000


def _prompts(name: str) -> list[str]:
    lines = (FIXTURES / name).read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines]


LASTING, PASSING = _prompts("prompts-lasting.txt"), _prompts("prompts-passing.txt")


@pytest.mark.spec("R-125")
def test_both_lists_hold_at_least_thirty_prompts():
    assert len(set(LASTING)) >= 30
    assert len(set(PASSING)) >= 30


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("prompt", LASTING)
def test_a_lasting_preference_or_decision_is_noticed(prompt):
    assert reads_lasting(prompt)


@pytest.mark.spec("R-125")
@pytest.mark.parametrize("prompt", PASSING)
def test_an_ordinary_prompt_is_not(prompt):
    assert not reads_lasting(prompt)


def test_quoted_fenced_pasted_and_private_text_is_not_the_persons_wish():
    rule = "From now on always run the linter."
    assert not reads_lasting(f"> {rule}")
    assert not reads_lasting(f"```\n{rule}\n```")
    assert not reads_lasting(f"look\n<pasted_content id=1>\n{rule}\n</pasted_content>")
    assert not reads_lasting(f"<private>{rule}</private> fix the test")


def test_a_rule_at_either_end_of_a_long_paste_is_noticed():
    filler = "The build printed a line of its log here.\n" * 400
    assert reads_lasting(filler + "From now on keep the build log short.")
    assert reads_lasting("From now on keep the build log short.\n" + filler)
    assert not reads_lasting(filler)


def test_a_workflow_template_is_not_a_wish():
    template = "# Step one\nAlways run it.\n# Step two\nNever skip it.\n# Step three\nCommit."
    assert not reads_lasting(template)


def test_a_prompt_of_a_megabyte_takes_no_time():
    started = time.perf_counter()
    for text in ("always " * 150_000, "let's use " * 100_000, "`" * 1_000_000, "a\n" * 500_000):
        reads_lasting(text)
    assert time.perf_counter() - started < 5


@pytest.mark.spec("R-126")
def test_the_safety_net_waits_fifteen_minutes_and_comes_once_in_fifteen():
    due, last = [], None
    for minutes in (0, 5, 14 + 59 / 60, 15, 20, 29 + 59 / 60, 30):
        now = round(minutes * MINUTE)
        if reminder_due(0, last, now):
            due.append(minutes)
            last = now
    assert due == [15, 30]


def test_a_clock_that_runs_backwards_brings_no_reminder():
    assert not reminder_due(10 * MINUTE, None, 0)
    assert not reminder_due(0, 20 * MINUTE, 16 * MINUTE)
