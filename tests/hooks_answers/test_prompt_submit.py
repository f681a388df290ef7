"""The note beside a telling prompt, and the safety net."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mash_plugin.daemon import hook_parts
from tests.hooks_answers.conftest import MINUTE
from tests.support.transcripts import ClaudeTranscript

WISH = "From now on always run the linter before committing."
LASTING, SWEEP = "lasting preference or decision", "of this session not saved yet"


@pytest.mark.spec("R-125")
def test_a_lasting_wish_brings_the_note_with_session_and_scope(desk):
    text = desk.prompt(WISH)
    assert LASTING in text
    assert SWEEP not in text
    assert '"session_id":"s-1"' in text
    assert '{"kind":"repository","identity":"github.com/acme/shop"}' in text
    assert desk.prompt("Fix the failing test") == ""


def test_what_is_to_hold_everywhere_is_to_be_saved_as_personal(desk):
    personal = 'scope {"kind":"personal"}'
    assert personal not in desk.prompt(WISH)
    assert personal in desk.prompt("In all my projects, always use tabs.")
    assert personal in desk.prompt(WISH, "s-2", cwd="/")  # no project


@pytest.mark.spec("R-126")
def test_the_safety_net_comes_at_fifteen_minutes_and_again_at_thirty(desk):
    start = desk.now
    came = []
    for minutes in (0, 5, 14 + 59 / 60, 15, 20, 29 + 59 / 60, 30):
        desk.now = start + round(minutes * MINUTE)
        if desk.prompt():
            came.append(minutes)
    assert came == [15, 30]


def test_the_net_says_how_to_cite_once_and_is_short_then(desk):
    desk.prompt()
    texts = []
    for _ in range(3):
        desk.now += 15 * MINUTE
        texts.append(desk.prompt())
    first, *later = texts
    assert '"session_id":"s-1"' in first
    for text in later:
        assert "`mcp__plugin_mash_mash__record`" in text
        assert len(text) < len(first) / 2


def test_a_second_wish_is_told_shortly_until_the_context_was_compacted(desk):
    first, second = desk.prompt(WISH), desk.prompt(WISH)
    assert '"session_id":"s-1"' in first
    for part in (LASTING, "`mcp__plugin_mash_mash__record`", "do not mention this"):
        assert part in second
    assert len(second) < 0.7 * len(first)
    desk.now += 15 * MINUTE
    both = desk.prompt(WISH)
    assert LASTING in both
    assert SWEEP in both
    assert len(both) < 0.8 * len(first)
    assert desk.prompt(WISH, "s-2") == first.replace("s-1", "s-2")
    desk.start(source="compact")
    assert desk.prompt(WISH) == first


def test_a_session_that_began_with_the_saving_note_has_a_short_net(desk):
    desk.start()
    desk.now += 15 * MINUTE
    text = desk.prompt()
    assert SWEEP in text
    assert len(text) < 160


@pytest.mark.spec("R-126")
def test_two_sessions_have_their_own_clocks_and_a_restart_keeps_them(desk):
    desk.prompt(session="a")
    desk.now += 10 * MINUTE
    desk.prompt(session="a")
    desk.prompt(session="b")
    desk.reopen()
    desk.now += 5 * MINUTE
    assert SWEEP in desk.prompt(session="a")
    assert desk.prompt(session="b") == ""
    desk.reopen()
    assert desk.prompt(session="a") == ""


@pytest.mark.spec("R-126")
@pytest.mark.row(26)
def test_the_net_survives_a_clock_that_was_ahead_and_a_machine_that_slept(desk):
    right = desk.now
    desk.now += 3_000 * 24 * 60 * MINUTE  # first seen by a clock that was years ahead
    desk.prompt()
    desk.now += 15 * MINUTE
    assert SWEEP in desk.prompt()
    desk.reopen()
    desk.now = right
    assert desk.prompt() == ""
    desk.now += 15 * MINUTE
    assert SWEEP in desk.prompt()
    desk.now += 8 * 60 * MINUTE  # asleep over night
    assert [bool(desk.prompt()) for _ in range(2)] == [True, False]


@pytest.mark.spec("R-126")
@pytest.mark.row(39)
def test_a_clock_set_back_within_a_session_delays_the_net_by_fifteen_minutes_at_most(desk):
    desk.prompt()
    desk.now -= 60 * MINUTE
    assert desk.prompt() == ""
    desk.now += 15 * MINUTE
    assert SWEEP in desk.prompt()


@pytest.mark.spec("R-126")
def test_two_terminals_of_one_session_get_one_reminder(desk):
    desk.prompt()
    desk.now += 15 * MINUTE
    with ThreadPoolExecutor(8) as terminals:
        told = list(terminals.map(lambda _: desk.prompt(), range(8)))
    assert sum(SWEEP in text for text in told) == 1


@pytest.mark.spec("R-126")
def test_a_wish_when_the_net_is_due_gives_one_text_and_counts_as_the_sweep(desk):
    desk.prompt()
    desk.now += 15 * MINUTE
    text = desk.prompt(WISH)
    assert LASTING in text
    assert SWEEP in text
    assert text.count("mash:") == 1
    desk.now += MINUTE
    assert desk.prompt() == ""


@pytest.mark.parametrize(
    "prompt",
    [
        f"<task-notification>\n{WISH}\n</task-notification>",
        f"/remember {WISH}",
    ],
)
def test_prompts_that_the_host_wrote_bring_nothing_and_use_nothing_up(desk, prompt):
    desk.prompt()
    desk.now += 20 * MINUTE
    assert desk.prompt(prompt) == ""
    assert desk.prompt(WISH, agent_id="sub-1") == ""
    assert SWEEP in desk.prompt()


def test_codex_review_and_subagent_prompts_bring_nothing(desk):
    def codex(**fields):
        return desk.say("prompt-submit", "UserPromptSubmit", "codex", prompt=WISH, **fields)

    assert codex(transcript_path="/r/rollout-2026-11-30T07-17-08-other.jsonl") == ""
    assert codex(agent_id="sub") == ""
    assert LASTING in codex(transcript_path="/r/rollout-2026-11-30T07-17-08-s-1.jsonl")
    assert LASTING in codex(transcript_path=None)


@pytest.fixture
def talk(desk):
    chat = ClaudeTranscript(desk.root / "home" / ".claude", str(desk.project), "s-1")

    def answered(said, prompt):
        """What a prompt brings after these words of the agent."""
        chat.person("How shall we store it?")
        chat.agent(said)
        desk.node.chats.refresh_path("claude-code", str(chat.path), desk.now)
        return desk.prompt(prompt)

    return answered


@pytest.mark.spec("R-125")
def test_a_short_answer_counts_where_the_agent_had_named_alternatives(talk):
    offer = "There are two ways:\n1. a table\n2. a file\n\nWhich one do you prefer?"
    assert LASTING in talk(offer, "2 sounds right to me")
    assert talk("I renamed the table and ran the tests.", "2 sounds right to me") == ""


@pytest.mark.spec("R-125")
def test_a_bare_name_counts_where_the_agent_had_asked_for_it(talk):
    assert LASTING in talk("Next.js or SvelteKit?", "SvelteKit")
    assert talk("The route is in SvelteKit now.", "SvelteKit") == ""


@pytest.mark.spec("R-125")
def test_a_short_answer_without_a_known_question_brings_nothing(desk, monkeypatch):
    assert desk.prompt("2 sounds right to me") == ""
    monkeypatch.setattr(hook_parts, "messages_newest_first", lambda *_: 1 / 0)
    assert desk.prompt("2 sounds right to me") == ""
    assert desk.failures
