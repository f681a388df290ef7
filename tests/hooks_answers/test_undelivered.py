"""What a hook no longer waited for counts as not shown."""

import json

import pytest

from mash_plugin.daemon import hooks
from mash_plugin.daemon.delivery import Delivery
from tests.hooks_answers.conftest import MINUTE

LASTING = "From now on always run the linter before committing."


@pytest.mark.parametrize("source", ["startup", "clear", "fork", "compact"])
def test_a_lost_block_comes_whole_with_a_resume(desk, lose, source):
    desk.keep("Kept.")
    desk.chat("An earlier chat", "old-1")
    text = lose(desk.start, source=source)
    assert "Saving memory" in text
    assert desk.start(source="resume") == text
    assert desk.start(source="resume") == ""


def test_what_was_saved_as_shown_before_it_got_lost_is_shown_nowhere(desk, monkeypatch):
    desk.keep("Keep a.py small.")
    kept, ways = hooks.answer, []

    def answer(*words):
        ways.append(Delivery())
        return kept(*words, ways[-1])

    monkeypatch.setattr(hooks, "answer", answer)
    path = str(desk.project / "a.py")
    assert desk.start()
    assert desk.read(path)
    desk.node.hook_state.flush(desk.now)
    for way in ways:
        way.fail()
    assert desk.node.hook_state.ledger.of("s-1") == {}
    desk.node.hook_state.flush(desk.now)
    with desk.node.store.reading() as db:
        assert db.all("SELECT shown_id FROM hook_files") == []
    assert desk.node.hook_state.ledger.of("s-1") == {}
    desk.reopen()
    assert desk.read(path)


def test_what_a_lost_resume_held_comes_with_the_next(desk, lose):
    desk.start()
    desk.now += MINUTE
    desk.keep("New.")
    text = lose(desk.start, source="resume")
    assert "New." in text
    assert desk.start(source="resume") == text
    assert desk.start(source="resume") == ""


def test_a_lost_reminder_travels_with_the_next_prompt(desk, lose):
    desk.start()
    desk.now += 15 * MINUTE
    assert "not saved yet" in lose(desk.prompt)
    assert "not saved yet" in desk.prompt()
    assert desk.prompt() == ""


def test_a_lost_note_leaves_the_next_one_to_say_how(desk, lose):
    whole = lose(desk.prompt, LASTING)
    assert '"quote"' in whole
    assert desk.prompt(LASTING) == whole
    assert '"quote"' not in desk.prompt(LASTING)


def test_a_lost_note_that_was_not_due_leaves_the_reminder_as_given(desk, lose):
    desk.prompt()
    desk.now += 15 * MINUTE
    desk.prompt()
    desk.now += MINUTE
    assert lose(desk.prompt, LASTING)
    assert desk.prompt() == ""


def test_a_lost_context_comes_with_the_next_read(desk, lose):
    desk.keep("Keep a.py small.")
    path = str(desk.project / "a.py")
    text = lose(desk.read, path)
    assert "Keep a.py small." in text
    assert desk.read(path) == text
    assert desk.read(path) == ""


def test_what_was_lost_is_in_no_ledger_and_no_log(desk, lose):
    desk.keep("Kept.")
    lose(desk.start)
    lose(desk.prompt, LASTING)
    desk.node.hook_state.flush(desk.now)
    assert desk.node.hook_state.ledger.of("s-1") == {}
    with desk.node.store.reading() as db:
        assert db.all("SELECT shown_id FROM hook_files") == []


def test_an_answer_that_fails_at_last_shows_nothing(desk, monkeypatch):
    desk.keep("Kept.")
    with monkeypatch.context() as patch:
        patch.setattr(hooks.context, "session_start", lambda *_: 1 / 0)
        assert desk.start() == ""
    assert "Kept." in desk.start()
    assert json.dumps(desk.failures).count("ZeroDivisionError") == 1
