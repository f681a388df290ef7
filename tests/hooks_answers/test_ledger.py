"""What each hook put into a session's context, counted in bytes."""

import pytest

from mash_plugin.errors import DiskFull
from tests.hooks_answers.conftest import MINUTE

WISH = "From now on always run the linter before committing."


def size(*texts):
    return len(texts), sum(len(text.encode()) for text in texts)


def test_every_hook_is_counted_with_the_bytes_that_it_gave(desk):
    desk.keep("Überall Tabulatoren, siehe a.py.")
    start, wish, plain = desk.start(), desk.prompt(WISH), desk.prompt()
    file, again = desk.read(str(desk.project / "a.py")), desk.read(str(desk.project / "a.py"))
    other = desk.start("s-2")
    assert plain == again == ""
    for _ in range(2):  # before and after it was written
        ledger = desk.node.hook_state.ledger
        assert ledger.of("s-1") == {
            "file-read": size(file),
            "prompt-submit": size(wish),
            "session-start": size(start),
        }
        assert ledger.of("s-2") == {"session-start": size(other)}
        desk.reopen()
    more = desk.prompt(WISH)
    assert desk.node.hook_state.ledger.of("s-1")["prompt-submit"] == size(wish, more)


def test_what_subagents_are_told_is_counted_apart(desk):
    desk.keep("Use tabs.", kind="preference", state="active")
    (desk.root / "mash" / "config.toml").write_text("[recall]\nsubagents = true\n")
    text = desk.say("session-start", "SubagentStart", agent_id="a-1")
    assert desk.node.hook_state.ledger.of("s-1") == {"subagent-start": size(text)}


def test_a_write_that_fails_loses_no_count_and_a_forgotten_session_leaves_none(desk, monkeypatch):
    text, state = desk.start(), desk.node.hook_state

    def full():
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(desk.node.store, "writing", full)
        with pytest.raises(DiskFull):
            state.flush(desk.now)
    state.flush(desk.now)
    assert state.ledger.of("s-1") == {"session-start": size(text)}
    desk.prompt(WISH)
    state.forget(["s-1"], [])
    with desk.node.store.writing() as db:
        db.run("DELETE FROM hook_sessions")
    desk.start("s-2")
    state.flush(desk.now)
    assert state.ledger.of("s-1") == {}


def test_a_project_without_memory_costs_its_saving_note_and_nothing_more(desk):
    text = desk.start()
    for number in range(40):
        desk.now += MINUTE // 4
        desk.prompt("Fix the failing test")
        desk.read(str(desk.project / f"{number}.py"))
    assert desk.node.hook_state.ledger.of("s-1") == {"session-start": size(text)}


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_hundred_prompts_with_two_hundred_records_take_under_six_kilobytes(desk, agent):
    for number in range(200):
        desk.keep(f"Decision {number}: module src/part{number % 40}.py owns {number}.", age=number)
    for number in range(5):
        desk.chat(f"How shall we build part {number}?", f"old-{number}")
    desk.say("session-start", "SessionStart", agent, source="startup")
    for number in range(100):
        desk.now += MINUTE
        prompt = WISH if number % 25 == 24 else f"Fix the failing test number {number}, please"
        desk.say("prompt-submit", "UserPromptSubmit", agent, prompt=prompt)
        if number % 20 == 19:
            path = desk.project / "src" / f"part{number // 20}.py"
            if agent == "codex":
                desk.cat(f"cat {path}")
            else:
                desk.read(str(path))
    told = desk.node.hook_state.ledger.of("s-1")
    assert sum(one.bytes for one in told.values()) < 6_000
