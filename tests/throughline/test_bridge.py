"""The coding agents' sessions as channels, where the person switched that on."""

import json
import subprocess
import sys

import pytest

from mash_plugin.chat_ids import chat_id
from mash_plugin.daemon import workers
from mash_plugin.daemon.bridge import Bridge
from mash_plugin.daemon.log import Log
from mash_plugin.memory import forget_chat
from mash_plugin.memory.call import Caller
from mash_plugin.throughline.drain import drain
from mash_plugin.throughline.remember import Memo, remember
from mash_plugin.throughline.settings import configured_agent
from mash_plugin.throughline.store import open_database
from tests.hooks_answers.conftest import IDENTITY, MINUTE, desk  # noqa: F401 - a fixture
from tests.support.polling import eventually
from tests.support.transcripts import START, ClaudeTranscript, CodexTranscript

PERSON = "Please call the boat Albatross from now on, will you?"
DECIDED = "Decided to keep the ferry timetable in one file."
PROMISED = "I'll add the winter timetable once the harbour answers."
ONE, TWO = "11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555"
HOUR = 60 * MINUTE


@pytest.fixture
def bridged(desk):  # noqa: F811 - pytest finds it by its name
    table = f'agent = "crew"\nworkspace = "{desk.root}/mm"\ncapture_sessions = true\n'
    (desk.root / "mash" / "config.toml").write_text(f"[throughline]\n{table}")
    return desk


def say(desk, session=ONE, *lines):  # noqa: F811
    """A session of Claude Code in the project, taken into the index."""
    chat = ClaudeTranscript(desk.root / "home" / ".claude", str(desk.project), session)
    chat.person(PERSON)
    for line in lines or (DECIDED, PROMISED):
        chat.agent(line)
    desk.node.chats.refresh_path("claude-code", str(chat.path), desk.now)
    return chat


def stored(desk, columns="session_id, channel, category, text"):  # noqa: F811
    _agent, settings = configured_agent(str(desk.root / "mash" / "config.toml"))
    db = open_database(settings, to_write=False)
    try:
        return db.all(f"SELECT {columns} FROM mm_memories ORDER BY artifact_key", {})  # noqa: S608
    finally:
        db.close()


def elsewhere(text):
    return [row for row in map(as_json, text.splitlines()) if "working" in row]


def as_json(line):
    return json.loads(line) if line.startswith("{") else {}


def test_an_idle_session_becomes_a_channel_of_its_repository(bridged):
    say(bridged)
    assert Bridge(bridged.node).run(bridged.now) == (1, 3)
    rows = stored(bridged)
    assert {row[:2] for row in rows} == {(ONE, f"claude-code:{IDENTITY}")}
    assert [row[2:] for row in rows[:2]] == [("decision", DECIDED), ("commitment", PROMISED)]
    assert "3 messages (2 agent-authored)" in rows[2][3]
    assert PERSON not in str(rows)


def test_a_session_of_codex_has_a_channel_of_its_own(bridged):
    chat = CodexTranscript(bridged.root / "home" / ".codex", str(bridged.project), TWO)
    chat.person(PERSON)
    chat.agent(DECIDED)
    bridged.node.chats.refresh_path("codex", str(chat.path), bridged.now)
    Bridge(bridged.node).run(bridged.now)
    assert {row[1] for row in stored(bridged)} == {f"codex:{IDENTITY}"}


def test_a_session_that_goes_on_waits_until_it_rests_or_tells_of_its_end(bridged):
    say(bridged)
    bridge = Bridge(bridged.node)
    assert bridge.run(START + 29 * MINUTE) == (0, 0)
    bridged.say("reminder-timer", "SessionEnd", session_id=ONE)
    assert bridge.run(START + 29 * MINUTE) == (1, 3)


@pytest.mark.row(63)
def test_what_was_captured_is_not_captured_again_until_the_session_goes_on(bridged):
    chat = say(bridged)
    bridge = Bridge(bridged.node)
    bridge.run(bridged.now)
    assert bridge.run(bridged.now) == (0, 0)
    assert Bridge(bridged.node).run(bridged.now) == (0, 0)
    chat.agent("Decided to print the timetable in blue.")
    bridged.node.chats.refresh_path("claude-code", str(chat.path), bridged.now)
    assert bridge.run(bridged.now)[0] == 1
    assert len(stored(bridged)) == 4


@pytest.mark.parametrize(
    "off",
    [
        '[projects]\ndeny = ["github.com/acme/*"]\n',
        '[projects]\nno_capture = ["github.com/acme/shop"]\n',
        '[projects]\nno_index = ["/"]\n',
    ],
)
def test_a_project_that_is_left_out_is_not_captured(bridged, off):
    say(bridged)
    file = bridged.root / "mash" / "config.toml"
    file.write_text(file.read_text() + off)
    assert Bridge(bridged.node).run(bridged.now) == (0, 0)


def test_a_project_whose_own_file_says_off_is_not_captured(bridged):
    say(bridged)
    (bridged.project / ".mash").write_text("capture = off\n")
    assert Bridge(bridged.node).run(bridged.now) == (0, 0)


def test_a_forgotten_chat_takes_its_working_memories_along(bridged):
    say(bridged)
    bridge = Bridge(bridged.node)
    bridge.run(bridged.now)
    agent, settings = configured_agent(str(bridged.root / "mash" / "config.toml"))
    memo = Memo(DECIDED, session=ONE, channel=f"claude-code:{IDENTITY}")
    remember(settings.workspace, agent, memo, bridged.now)
    drain(settings, agent, bridged.now)
    assert DECIDED in (bridged.root / "mm" / "MEMORY.md").read_text()
    aside = bridged.root / "mm" / "queue" / "set-aside"
    aside.mkdir()
    (entry,) = (bridged.root / "mm" / "queue" / "stored").iterdir()
    owner, session = entry.name.split("-")
    (aside / f"{owner}-c-{session}-0-0.json").write_text(DECIDED)
    call = bridged.node.call(Caller(), bridged.now, {})
    forget_chat.forget_chat(call, forget_chat.find_going(call, chat_id("claude-code", ONE)))
    bridge.must_forget = True
    bridge.run(bridged.now)
    assert not entry.exists()
    assert stored(bridged) == []
    for file in (bridged.root / "mm").rglob("*"):
        assert not file.is_file() or DECIDED.encode() not in file.read_bytes()


def test_a_new_session_is_told_what_happened_in_others(bridged):
    say(bridged)
    Bridge(bridged.node).run(bridged.now)
    text = bridged.start("s-2")
    assert "Working memory: what agents noted in other sessions here" in text
    assert [row["working"] for row in elsewhere(text)] == [PROMISED, DECIDED]
    assert {row["agent"] for row in elsewhere(text)} == {"claude-code"}
    assert elsewhere(bridged.start(ONE)) == []


def test_three_lines_at_most_and_none_after_two_days(bridged):
    say(bridged, ONE, *(f"Decided to paint mooring {n}." for n in range(4)))
    say(bridged, TWO, "The harbour is closed.")
    Bridge(bridged.node).run(bridged.now)
    assert len(elsewhere(bridged.start("s-2"))) == 3
    bridged.now = START + 48 * HOUR + MINUTE
    assert elsewhere(bridged.start("s-3")) == []


def test_a_session_without_key_lines_is_told_by_its_summary(bridged):
    say(bridged, ONE, "The harbour is closed.")
    Bridge(bridged.node).run(bridged.now)
    (row,) = elsewhere(bridged.start("s-2"))
    assert row["working"].startswith("Session record [chat] on claude-code:")


def test_another_project_and_switched_off_recall_tell_nothing(bridged, tmp_path):
    say(bridged)
    Bridge(bridged.node).run(bridged.now)
    other = tmp_path / "other"
    other.mkdir()
    assert elsewhere(bridged.start("s-2", cwd=str(other))) == []
    bridged.switches["MASH_RECORD_RECALL"] = "off"
    assert elsewhere(bridged.start("s-3")) == []


def test_a_broken_store_costs_only_its_own_lines(bridged):
    bridged.keep("Kept.")
    (bridged.root / "mm").mkdir()
    (bridged.root / "mm" / "memories.db").write_bytes(b"no database, but long enough" * 99)
    text = bridged.start("s-2")
    assert "Kept." in text
    assert elsewhere(text) == []
    assert bridged.failures


@pytest.mark.parametrize("table", ["", "capture_sessions = false\nagent = 'a'\nworkspace = '/w'\n"])
def test_switched_off_a_start_imports_nothing_of_it(desk, table):  # noqa: F811
    desk.keep("Kept.")
    (desk.root / "mash" / "config.toml").write_text(f"[throughline]\n{table}")
    desk.node.close()
    script = f"""
import json, sys
import mash_plugin.daemon.start
from mash_plugin.daemon import hooks
from mash_plugin.daemon.node import Node
from mash_plugin.paths import find_paths
hooks.BUDGET_S = 10.0
node = Node(find_paths({{"MASH_HOME": {str(desk.root / "mash")!r}}}), {desk.now}, {{}})
raw = {{"session_id": "s", "cwd": {str(desk.project)!r}, "hook_event_name": "SessionStart",
        "source": "startup"}}
assert b"Kept" in hooks.answer(node, "session-start", "codex", {{}}, json.dumps(raw).encode())
print([name for name in sys.modules if "throughline" in name or name.endswith("daemon.bridge")])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_the_daemons_background_work_captures_by_itself(bridged, monkeypatch):
    monkeypatch.setattr(workers, "SESSIONS_AFTER_S", 0.0)
    monkeypatch.setenv("MASH_TEST_NOW_MS", str(bridged.now))
    say(bridged)
    log = bridged.root / "log"
    at_work = workers.Workers(bridged.node, Log(str(log)))
    try:
        eventually(lambda: log.exists() and "captured" in log.read_text(), "nothing was captured")
    finally:
        at_work.close()
    assert len(stored(bridged)) == 3
    assert DECIDED not in log.read_text()


def test_the_daemon_forgets_what_it_captured_also_where_it_captures_no_more(bridged, monkeypatch):
    say(bridged)
    Bridge(bridged.node).run(bridged.now)
    config = bridged.root / "mash" / "config.toml"
    config.write_text(config.read_text().replace("= true", "= false"))
    monkeypatch.setattr(workers, "SESSIONS_AFTER_S", 0.0)
    monkeypatch.setattr(workers, "SESSIONS_EVERY_S", 0.1)
    monkeypatch.setenv("MASH_TEST_NOW_MS", str(bridged.now))
    at_work = workers.Workers(bridged.node, Log(str(bridged.root / "log")))
    try:
        call = bridged.node.call(Caller(), bridged.now, {})
        forget_chat.forget_chat(call, forget_chat.find_going(call, chat_id("claude-code", ONE)))
        eventually(lambda: stored(bridged) == [], "the working memories stay")
    finally:
        at_work.close()


def test_a_projects_environment_does_not_choose_where_memories_go(bridged, monkeypatch):
    monkeypatch.setenv("MM_BACKEND", "postgres")
    monkeypatch.setenv("MM_POSTGRES_DSN", "postgresql://crew@elsewhere.example/mm")
    monkeypatch.setenv("MM_WORKSPACE", "/planted")
    _agent, settings = configured_agent(str(bridged.root / "mash" / "config.toml"))
    assert (settings.backend, settings.dsn) == ("file", None)
    assert settings.workspace == f"{bridged.root}/mm"
