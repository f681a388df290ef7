"""What a session's start could not tell comes with its first prompt, once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mash_plugin.daemon import hook_parts, hooks
from mash_plugin.daemon.delivery import Delivery
from mash_plugin.daemon.lanes import Lane
from mash_plugin.records.model import Scope
from mash_plugin.store.pauses import FOR_EVER
from tests.hooks_answers.conftest import IDENTITY, MINUTE

LASTING = "From now on always run the linter before committing."
AGENTS = pytest.mark.parametrize("agent", ["claude-code", "codex"])


@pytest.fixture
def desk(desk):
    """With something to tell."""
    desk.record = desk.keep("Kept in a.py.")
    desk.chat("An earlier chat", "old-1")
    return desk


@pytest.fixture
def prompt(desk):
    """A prompt of the session, whatever became of its start."""

    def say(text="Fix the failing test", agent="claude-code", **fields):
        return desk.say("prompt-submit", "UserPromptSubmit", agent, prompt=text, **fields)

    return say


def whole(text):
    return "Kept in a.py." in text and "An earlier chat" in text and "Saving memory" in text


@AGENTS
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_a_start_that_never_arrived_comes_whole_with_the_next_prompt_and_once(
    desk, lose, prompt, agent, source
):
    text = lose(desk.start, source=source, agent=agent)
    assert whole(text)
    assert prompt(agent=agent) == text
    assert prompt(agent=agent) == ""
    assert desk.start(source="resume", agent=agent) == ""


@AGENTS
def test_a_session_that_begins_with_a_prompt_had_a_start_that_nobody_answered(desk, prompt, agent):
    assert whole(prompt(agent=agent))
    assert prompt(agent=agent) == ""
    assert desk.start(agent=agent) == ""  # should it come after all


@AGENTS
@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_a_start_that_arrived_is_not_repeated(desk, prompt, agent, source):
    assert whole(desk.start(source=source, agent=agent))
    assert prompt(agent=agent) == ""
    desk.reopen()
    assert prompt(agent=agent) == ""


def test_a_lost_compaction_comes_whole_though_the_session_was_told_before(desk, lose, prompt):
    path = str(desk.project / "a.py")
    desk.start()
    assert desk.read(path)
    lose(desk.start, source="compact")
    assert desk.read(path)
    assert whole(prompt())
    assert desk.read(path) == ""


def test_a_lost_resume_brings_what_changed_and_nothing_else(desk, lose, prompt):
    desk.start()
    desk.now += MINUTE
    desk.keep("New.")
    text = lose(desk.start, source="resume")
    assert "New." in text
    assert prompt() == text
    assert prompt() == ""


def test_a_session_that_returns_after_the_daemon_had_ended_is_told_what_changed(desk, prompt):
    desk.start()
    desk.now += 31 * MINUTE
    desk.keep("New.")
    desk.reopen()
    text = prompt()
    assert "New." in text
    assert "Kept in" not in text
    assert "New." not in prompt()


def test_a_daemon_that_is_replaced_meanwhile_repeats_nothing_and_forgets_no_lost_start(
    desk, lose, prompt
):
    desk.start()
    desk.keep("New.")
    lose(desk.start, session="s-2")
    desk.reopen()
    assert prompt() == ""
    assert whole(prompt(session_id="s-2"))
    assert prompt(session_id="s-2") == ""


def test_what_a_lost_prompt_made_up_for_comes_with_the_next(desk, lose, prompt):
    text = lose(prompt)
    assert whole(text)
    assert prompt() == text
    assert prompt() == ""


def test_two_prompts_at_once_bring_it_once(desk, lose, prompt):
    lose(desk.start)
    with ThreadPoolExecutor(8) as terminals:
        told = list(terminals.map(lambda _: prompt(), range(8)))
    assert sorted(map(bool, told)) == [False] * 7 + [True]


def test_a_prompt_waits_until_it_is_known_whether_the_start_arrived(desk, prompt, monkeypatch):
    kept, way = hooks.answer, Delivery()
    with monkeypatch.context() as patch:
        patch.setattr(hooks, "answer", lambda *words: kept(*words, way))
        text = desk.start()

    class UnderWay(threading.Event):
        def wait(self, timeout=None):
            assert 0 < timeout <= hooks.BUDGET_S
            way.fail()
            way.end()
            return True

    session = desk.node.hook_state.touch("s-1", "claude-code", "file-read", desk.now)
    assert not session.start_under_way.is_set()
    session.start_under_way = UnderWay()
    assert prompt() == text


@AGENTS
def test_subagents_and_reviews_do_not_take_it(desk, lose, prompt, agent):
    lose(desk.start, agent=agent)
    assert prompt(LASTING, agent, agent_id="sub-1") == ""
    if agent == "codex":
        path = str(desk.root / "rollout-2026-11-30T10-00-00-another.jsonl")
        assert prompt(LASTING, agent, transcript_path=path) == ""
    assert desk.say("session-start", "SubagentStart", agent, agent_id="sub-1") == ""
    assert whole(prompt(agent=agent))


def test_a_first_prompt_that_the_host_made_of_a_command_brings_it_without_a_note(desk, prompt):
    assert whole(prompt("/fix 12"))
    assert prompt("/fix 13") == ""


def test_what_was_late_comes_with_the_prompt_and_what_arrived_does_not(desk, prompt, monkeypatch):
    lane, opened = Lane("records"), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(hook_parts, "_records_lane", lane)
        patch.setattr(hook_parts, "_chats_lane", Lane("chats"))
        patch.setattr(hooks, "BUDGET_S", 0.3)
        lane.start(opened.wait)
        lane.start(opened.wait)
        first = desk.start()
        still = prompt()
        opened.set()
    assert ("Kept in" in first, "An earlier chat" in first, "Saving" in first) == (0, 1, 1)
    assert still == ""
    text = prompt()
    assert ("Kept in" in text, "An earlier chat" in text, "Saving" in text) == (1, 0, 0)
    assert prompt() == ""


def test_a_telling_prompt_gets_both_within_the_limit(desk, prompt):
    for number in range(9):
        desk.keep(f"{number} " + "<&>" * 400)
    text = prompt(LASTING)
    assert "Saving memory" in text
    assert "this reads like a lasting preference" in text
    assert text.count("their exact words") == 1
    assert "cited as before" in prompt(LASTING)


@pytest.mark.parametrize("length", [600, 1_000, 3_600])
def test_where_a_long_place_leaves_little_room_the_answer_is_bounded_all_the_same(
    desk, prompt, tmp_path, length
):
    folder = tmp_path / ("<" * 200)
    while len(str(folder)) < length:
        folder = folder / ("<" * 200)
    folder.mkdir(parents=True)
    for number in range(3):
        desk.keep(f"{number} " + "<&>" * 400, Scope("local_project", str(folder)))
    text = prompt(LASTING, cwd=str(folder))  # `say` measures it
    assert "this reads like a lasting preference" in text or length > 2_000
    assert '"decision"' in text or length == 1_000


def test_switches_hold_for_what_is_made_up_too(desk, lose, prompt):
    lose(desk.start)
    desk.switches = {"MASH_RECORD_CAPTURE": "off"}
    text = prompt()
    assert ("Kept in" in text, "Saving" in text) == (True, False)
    lose(desk.start, source="compact")
    desk.switches = {"MASH_RECORD_RECALL": "off"}
    text = prompt()
    assert ("Kept in" in text, "An earlier chat" in text, "Saving" in text) == (0, 1, 1)


def test_where_hooks_are_paused_or_denied_nothing_is_made_up(desk, prompt):
    pauses = desk.node.hook_state.pauses
    pauses.put(f"project:{IDENTITY}", None, FOR_EVER, desk.now)
    assert desk.start() == ""
    assert prompt() == ""
    pauses.end(f"project:{IDENTITY}")
    assert prompt() == ""  # its start was answered, with silence
    (desk.root / "mash" / "config.toml").write_text(f'[projects]\ndeny = ["{desk.project}"]\n')
    assert prompt(session_id="s-2") == ""


def test_a_session_whose_chat_was_forgotten_is_not_told_again(desk, prompt):
    desk.start()
    desk.node.hook_state.flush(desk.now)
    desk.node.hook_state.forget(["s-1"], [])
    assert prompt() == ""


def test_late_starts_are_counted_whether_or_not_they_reached_the_daemon(desk, lose, prompt):
    latency = desk.node.hook_state.latency
    desk.start(session="s-3")
    prompt(session_id="s-3")
    assert latency.late(desk.now) == {}
    prompt()
    prompt()
    assert latency.late(desk.now) == {"session-start": 1}


def test_what_was_made_up_counts_as_shown_by_the_prompt(desk, prompt):
    size = len(json.dumps(prompt())) - 2
    assert size > 0
    desk.node.hook_state.flush(desk.now)
    assert list(desk.node.hook_state.ledger.of("s-1")) == ["prompt-submit"]
    with desk.node.store.reading() as db:
        shown = {row[0] for row in db.all("SELECT shown_id FROM hook_files")}
    assert desk.record in shown
