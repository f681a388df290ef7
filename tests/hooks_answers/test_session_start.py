"""What a session is told when it starts, goes on, is cleared, compacted or forked."""

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from mash_plugin.records.model import Scope
from tests.hooks_answers.conftest import MINUTE, make_repository
from tests.support.transcripts import GeminiTranscript

ENDED = "Shown to you before, since withdrawn, replaced or contradicted (mash):"
SESSION = "aaf1f2a4-af7c-49a6-b191-247ea3d230da"


def _records(text):
    """Each record that a block shows, its statement under that name."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"date"')]
    kinds = {"decision", "preference", "fact"}
    return [{**one, "statement": one[k]} for one in lines for k in kinds & one.keys()]


def _chats(text):
    lines = [line for line in text.splitlines() if line.startswith('{"date"')]
    return [item for item in map(json.loads, lines) if "chat" in item]


@pytest.mark.spec("R-130", "R-159", "R-124")
def test_three_records_then_recent_chats_then_the_saving_note(desk):
    for number in range(5):
        desk.keep(f"Decision number {number}.", age=number * MINUTE)
    for number in range(4):
        desk.chat(f"Chat number {number}", f"old-{number}")
    text = desk.start()
    assert [r["statement"] for r in _records(text)] == [f"Decision number {n}." for n in range(3)]
    assert len(_chats(text)) == 3
    assert text.index("Decision number 2") < text.index("Chat number") < text.index("session_id")
    assert 'evidence: [{"session_id":"s-1"' in text
    assert 'scope: {"kind":"repository","identity":"github.com/acme/shop"}' in text


@pytest.mark.spec("R-130", "R-032")
def test_candidates_are_unconfirmed_and_agent_decisions_named(desk):
    desk.keep("Ours.")
    desk.keep("Mine.", decided_by="agent", age=1)
    desk.keep("Perhaps.", review="candidate", age=2)
    shown = {r["statement"]: r.get("label") for r in _records(desk.start())}
    assert shown == {"Ours.": None, "Mine.": "agent decision", "Perhaps.": "unconfirmed"}


@pytest.mark.spec("R-130")
def test_records_under_the_identity_and_under_the_path_share_the_three_places(desk):
    desk.keep("By identity.", age=1)
    desk.keep("By path.", Scope("local_project", str(desk.project)))
    desk.keep("Personal.", Scope("personal"))
    desk.keep("Elsewhere.", Scope("repository", "github.com/acme/other"))
    assert {r["statement"] for r in _records(desk.start())} == {"By identity.", "By path."}


def test_a_folder_without_a_remote_is_named_by_its_path(desk, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    desk.keep("Here.", Scope("local_project", str(plain)))
    text = desk.start(cwd=str(plain))
    assert [r["statement"] for r in _records(text)] == ["Here."]
    assert json.dumps({"kind": "local_project", "path": str(plain)}, separators=(",", ":")) in text


@pytest.mark.parametrize("cwd", ["/", "/gone/away", "", "/a\nb", "/" + "p" * 4095, "\ud83d"])
def test_a_folder_that_is_no_project_still_gets_a_saving_note(desk, cwd):
    text = desk.start(cwd=cwd)
    assert "Saving memory" in text or cwd.startswith("/p")
    assert _records(text) == []


@pytest.mark.spec("R-134", "R-084")
def test_stale_inactive_and_conflicted_records_stay_out(desk):
    stale, left, right = (desk.keep(f"Record {n}.") for n in range(3))
    desk.keep("Withdrawn.", state="withdrawn")
    desk.keep("Fine.")
    with desk.node.store.writing() as db:
        db.run("UPDATE records SET evidence_stale = 1 WHERE record_id = :id", {"id": stale})
        db.run(
            "INSERT INTO links (from_record, to_record, relation, from_revision, to_revision,"
            " recorded_at) VALUES (:a, :b, 'contradicts', 1, 1, 0)",
            {"a": left, "b": right},
        )
    assert [r["statement"] for r in _records(desk.start())] == ["Fine."]


def test_chats_of_other_projects_and_the_session_itself_are_not_hinted(desk, tmp_path):
    other = make_repository(tmp_path / "other", "https://github.com/acme/other")
    desk.chat("Another project", "old-1", other)
    desk.chat("This very session", "s-1")
    desk.chat("The same project", "old-2")
    assert [c["title"] for c in _chats(desk.start())] == ["The same project"]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_chat_of_an_agent_without_hooks_is_named_as_any_other(desk, agent):
    chat = GeminiTranscript(desk.root / "home" / ".gemini", str(desk.project), SESSION)
    chat.prompt("Should ledgers use tabs?")
    desk.node.chats.refresh_all(desk.now)
    (shown,) = _chats(desk.start(agent=agent))
    assert (shown["chat"], shown["title"]) == (f"gemini-cli-{SESSION}", "Should ledgers use tabs?")


def test_personal_preferences_come_only_when_asked_for(desk):
    for number in range(3):
        desk.keep(f"Habit {number}.", Scope("personal"), number, kind="preference", state="active")
    desk.keep("A personal decision.", Scope("personal"))
    assert _records(desk.start()) == []
    config = desk.root / "mash" / "config.toml"
    config.write_text("[recall]\npersonal_at_start = true\n")
    shown = [r["statement"] for r in _records(desk.start("s-2"))]
    assert shown == ["Habit 0.", "Habit 1."]


@pytest.mark.parametrize("source", ["startup", "clear", "fork"])
def test_the_full_block_comes_once_for_each_session_and_source(desk, source):
    desk.keep("Kept.")
    assert "Kept." in desk.start(source=source)
    assert desk.start(source=source) == ""
    assert "Kept." in desk.start("s-2", source)
    desk.reopen()
    assert desk.start(source=source) == ""


def test_the_block_comes_again_after_each_compaction(desk):
    desk.keep("Kept.")
    desk.start()
    for _ in range(3):
        assert "Kept." in desk.start(source="compact")


@pytest.mark.parametrize("was_told", [False, True])
def test_a_resume_of_codex_that_compacts_at_once_says_nothing_twice(desk, was_told):
    desk.keep("Old.")
    desk.chat("An earlier chat", "old-1")
    if was_told:
        desk.start(agent="codex")
        desk.prompt(agent="codex")
        desk.now += MINUTE
    desk.keep("New.")
    text = "".join(desk.start(source=source, agent="codex") for source in ("resume", "compact"))
    for said in ("Old.", "New.", "An earlier chat", "Saving memory"):
        assert text.count(said) == 1
    desk.prompt(agent="codex")
    assert "Old." in desk.start(source="compact", agent="codex")


def test_a_compaction_of_claude_code_may_drop_what_a_resume_showed_a_moment_ago(desk):
    desk.keep("Old.")
    assert "Old." in desk.start(source="resume")
    assert "Old." in desk.start(source="compact")


def test_resume_shows_only_what_changed_since(desk):
    desk.keep("Old.")
    desk.start()
    assert desk.start(source="resume") == ""
    desk.now += MINUTE
    desk.keep("New.")
    desk.now += MINUTE
    text = desk.start(source="resume")
    assert [r["statement"] for r in _records(text)] == ["New."]
    assert "Saving memory" not in text
    assert desk.start(source="resume") == ""


def test_resume_finds_what_changed_among_hundreds_of_better_standing(desk):
    for number in range(200):
        desk.keep(f"Settled {number}.")
    desk.start()
    desk.now += MINUTE
    desk.keep("Perhaps.", review="candidate")
    assert [r["statement"] for r in _records(desk.start(source="resume"))] == ["Perhaps."]


@pytest.mark.parametrize("comes_back_in", ["the same daemon", "a new one"])
def test_a_resume_tells_first_what_took_the_place_of_something_shown(desk, comes_back_in):
    old = desk.keep("Carts are in Postgres.")
    desk.start()
    desk.now += MINUTE
    new = desk.take_over(desk.take_over(old, "Carts are in MySQL."), "Carts are in SQLite.")
    desk.now += MINUTE
    for number in range(4):
        desk.keep(f"Newer {number}.")
    if comes_back_in == "a new one":
        desk.reopen()
    text = desk.start(source="resume")
    assert next(r["id"] for r in _records(text)) == new
    assert len(_records(text)) == 3
    assert text.endswith(f"\n\n{ENDED} {old}.")
    assert desk.start(source="resume") == ""


def test_a_resume_names_what_was_withdrawn_or_contradicted_of_what_was_shown(desk):
    kept, withdrawn, contradicted = (desk.keep(text) for text in ("Kept.", "Tabs.", "Monday."))
    desk.start()
    unseen = desk.keep("Never shown.")
    desk.now += MINUTE
    desk.retire(unseen)
    assert desk.start(source="resume") == ""
    desk.retire(withdrawn)
    desk.link(desk.keep("Friday."), "contradicts", contradicted)
    text = desk.start(source="resume")
    assert text.startswith(ENDED)
    assert set(text.removeprefix(ENDED).strip(" .").split(", ")) == {withdrawn, contradicted}
    assert kept not in text
    assert desk.start(source="resume") == ""


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "fork"])
def test_of_starts_at_once_exactly_one_brings_the_block(desk, source):
    desk.keep("Kept.")
    gate = Barrier(4)

    def start():
        gate.wait(10)
        return desk.start(source=source)

    with ThreadPoolExecutor(4) as pool:
        texts = [task.result() for task in [pool.submit(start) for _ in range(4)]]
    assert sum("Kept." in text for text in texts) == 1
    assert texts.count("") == 3


def test_a_session_that_was_never_told_gets_the_whole_block_on_resume(desk):
    desk.keep("Old.")
    desk.prompt()
    assert "Old." in desk.start(source="resume")
    assert desk.start(source="resume") == ""


def test_subagents_start_in_silence(desk):
    desk.keep("Kept.")
    assert desk.say("session-start", "SubagentStart", agent_id="a-1") == ""
    assert desk.start(agent_id="a-1") == ""
    review = "/r/rollout-2026-11-30T07-17-08-other.jsonl"
    raw = {"source": "startup", "transcript_path": review}
    assert desk.say("session-start", "SessionStart", "codex", **raw) == ""
    assert "Kept." in desk.start()


def test_subagents_are_told_established_preferences_once_each_where_it_is_wanted(desk):
    place = {"kind": "preference", "state": "active"}
    for number in range(30):
        desk.keep(f"A decision {number}.", age=1)
    desk.keep("Use tabs.", **place, age=2)
    desk.keep("Perhaps spaces.", review="candidate", **place)
    desk.keep("Personal.", Scope("personal"), **place)
    assert desk.say("session-start", "SubagentStart", agent_id="a-1") == ""
    (desk.root / "mash" / "config.toml").write_text("[recall]\nsubagents = true\n")
    for agent in ("claude-code", "codex"):
        for subagent in ("a-1", "a-2"):
            text = desk.say(
                "session-start", "SubagentStart", agent, session_id=agent, agent_id=subagent
            )
            assert [r["statement"] for r in _records(text)] == ["Use tabs."]
            assert "Saving memory" not in text
        again = {"session_id": agent, "agent_id": "a-2"}
        assert desk.say("session-start", "SubagentStart", agent, **again) == ""
    desk.switches["MASH_RECORD_RECALL"] = "off"
    assert desk.say("session-start", "SubagentStart", agent_id="a-3") == ""


@pytest.mark.spec("R-128", "R-127")
def test_the_end_of_a_turn_or_session_is_noted_and_never_speaks(desk):
    desk.start()
    desk.now += 60 * MINUTE
    path = str(desk.root / "t.jsonl")
    assert desk.say("reminder-timer", "Stop", transcript_path=path, stop_hook_active=False) == ""
    assert desk.say("reminder-timer", "SessionEnd", transcript_path=path, reason="other") == ""
    assert desk.queued == [("claude-code", path)] * 2
    assert "of this session not saved yet" in desk.prompt()


@pytest.mark.spec("R-133", "R-135")
def test_a_hundred_hooks_leave_the_records_as_they_were(desk):
    desk.keep("Look at src/a.py first.")

    def content():
        with desk.node.store.reading() as db:
            tables = ("records", "revisions", "evidence", "confirmations", "receipts", "links")
            return [db.all(f"SELECT * FROM {t} ORDER BY 1, 2") for t in tables]  # noqa: S608

    before = content()
    for number in range(25):
        desk.start(f"s-{number}")
        desk.prompt("From now on use tabs.", f"s-{number}")
        desk.read(str(desk.project / "src" / "a.py"), f"s-{number}")
        desk.say("reminder-timer", "Stop", session_id=f"s-{number}")
    desk.node.hook_state.flush(desk.now)
    assert content() == before
    assert desk.failures == []
