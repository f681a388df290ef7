"""What the owner of a runner mistypes or overlooks is told to them."""

import json
import os
import socket
import sys

import pytest

from mash_plugin.cli.main import run
from mash_plugin.cli.meaning_memory import PROGRAM, cli
from mash_plugin.throughline import doctor as examination
from mash_plugin.throughline import server
from tests.throughline.conftest import AGENT, CHAT, NOW, SESSION, both, lines_of

LATE = {"MM_TEST_NOW_MS": str(NOW + 20 * 60_000)}
JOB = lines_of(("assistant", "Remember: the job ended with exit code 3."))


def capture_job(workspace, text, *more, session="job"):
    names = ("--agent", AGENT, "--session-id", session, "--channel", "cron:job")
    kind = ("--source-kind", "cron", "--transcript", workspace.write(text, "job.jsonl"))
    return workspace.run("capture-session", *names, *kind, "--config-dir", workspace.path, *more)


def doctor(workspace, *more, **environment):
    return workspace.run("doctor", "--config-dir", workspace.path, *more, **environment)


def ask(workspace, tool, *more, **arguments):
    where = ("call", "--agent", AGENT, "--config-dir", workspace.path)
    return workspace.run(*where, *more, tool, json.dumps(arguments))


def test_a_drain_under_a_wrong_name_tells_whose_captures_wait(workspace):
    capture_job(workspace, JOB)
    told = f"captures wait here of {AGENT} (1, for 0 minutes). Is the name right?"
    assert told in workspace.drain("support-bt").err
    quiet = ("consolidate", "--agent-id", "support-bt", "--drain-only", "--quiet")
    where = ("--config-dir", workspace.path)
    assert workspace.run(*quiet, *where).err == ""  # the other agent's drain may be due in a minute
    assert f"{AGENT} (1, for 20 minutes)" in workspace.run(*quiet, *where, **LATE).err


@pytest.mark.parametrize("more", [(), ("--agent", "support-bt")])
def test_the_doctor_lists_who_waits_whoever_is_asked_for(workspace, more):
    capture_job(workspace, JOB)
    assert f"1 capture(s) of {AGENT} wait for the next drain" in doctor(workspace, *more).out


def test_a_long_time_is_told_in_days(workspace):
    capture_job(workspace, JOB)
    late = {"MM_TEST_NOW_MS": str(NOW + 5 * 86_400_000)}
    assert "the oldest has waited for 5 days" in doctor(workspace, "--agent", AGENT, **late).out


@both
def test_a_wrong_name_of_an_agent_or_a_tool_is_answered_with_the_right_ones(workspace):
    capture_job(workspace, JOB)
    told = f"There is nothing of support-bt here, but of: {AGENT}. Is the name right?\n"
    for _ in range(2):
        wrong = ("--agent", "support-bt", "--config-dir", workspace.path)
        assert workspace.run("call", *wrong, "mm_search").err == told
        forget = workspace.run("forget", *wrong, "--session-id", "job", "--yes")
        assert told in forget.err
        workspace.drain()
    assert ask(workspace, "mm_search", query="nowhere").err.count("name right") == 0
    refused = json.loads(ask(workspace, "mm_forget").out)["error"]["message"]
    assert "the tools: mm_search, mm_session_recall, mm_remember" in refused


def test_the_doctor_says_of_a_wrong_name_whose_memories_there_are(workspace):
    capture_job(workspace, JOB)
    workspace.drain()
    found = doctor(workspace, "--agent", "support-bt")
    assert (found.code, f"but of: {AGENT}." in found.out) == (0, True)
    assert "but of" not in doctor(workspace, "--agent", AGENT).out


MISSING = "does not exist. Is the name right?\n"


def test_a_folder_that_is_not_there_is_told_by_whoever_only_reads(workspace):
    workspace.folder.rmdir()
    for tool, asked in (("mm_search", {}), ("mm_session_recall", {"session_id": "job"})):
        done = ask(workspace, tool, **asked)
        assert (done.code, done.err) == (0, f"The workspace {workspace.path} {MISSING}")
    serve = workspace.run("serve", "--agent", AGENT, "--config-dir", workspace.path)
    assert (serve.code, f"{workspace.path} does not exist; nothing was" in serve.err) == (2, True)
    assert not workspace.folder.exists()
    text = json.loads(ask(workspace, "mm_remember", text="Tea.").out)["text"]
    assert text.endswith(f"{workspace.path} did not exist and was made: is the name right?")


def test_a_server_tells_a_wrong_name_at_its_start(workspace, monkeypatch, capsys):
    monkeypatch.setattr(server, "serve", lambda *_: None)
    capture_job(workspace, JOB)
    where = ("--config-dir", workspace.path)
    assert run(["mcp", "--agent", AGENT, *where], cli, PROGRAM) == 0
    assert capsys.readouterr().err == ""
    assert run(["mcp", "--agent", "support-bt", *where], cli, PROGRAM) == 0
    assert capsys.readouterr().err.endswith(f"but of: {AGENT}. Is the name right?\n")
    assert run(["mcp", "--agent", AGENT, "--config-dir", f"{workspace.path}x"], cli, PROGRAM) == 0
    assert capsys.readouterr().err.endswith(MISSING)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run(["serve", "--agent", "support-bt", "--port", port, *where], cli, PROGRAM) == 1
    assert f"but of: {AGENT}. Is the name right?\n" in capsys.readouterr().err


def test_on_a_terminal_a_call_prints_the_text_as_the_agent_reads_it(workspace, monkeypatch, capsys):
    capture_job(workspace, JOB)
    workspace.drain()
    question = ("mm_search", '{"memory_stage": "working"}')
    where = ("--agent", AGENT, "--config-dir", workspace.path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["call", *where, *question], cli, PROGRAM) == 0
    assert capsys.readouterr().out == workspace.call("mm_search", memory_stage="working") + "\n"
    assert run(["call", *where, "--data", *question], cli, PROGRAM) == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == 2


def test_a_new_workspace_is_told_as_one(workspace):
    workspace.folder.rmdir()
    assert f"{workspace.path} did not exist and was made" in capture_job(workspace, JOB).err
    assert capture_job(workspace, JOB, session="two").err == ""


def test_another_run_under_the_same_id_is_told(workspace):
    assert capture_job(workspace, JOB).err == ""
    assert capture_job(workspace, JOB).err == ""
    again = JOB.replace("code 3", "code 0")
    assert capture_job(workspace, again, "--quiet").err == ""
    assert "takes the place of what was captured of session job" in capture_job(workspace, JOB).err


@both
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_corrected_channel_is_that_of_every_memory_of_the_session(workspace, is_stored):
    capture_job(workspace, JOB, "--channel", "cron:jbo")
    if is_stored:
        workspace.drain()
    right = capture_job(workspace, JOB)
    assert "2 artifact(s) queued" in right.out
    assert "takes the place" in right.err
    workspace.drain()
    assert workspace.rows("SELECT DISTINCT channel, source_kind FROM mm_memories") == [
        ("cron:job", "cron")
    ]
    assert capture_job(workspace, JOB, "--source-kind", "heartbeat").code == 0
    assert workspace.drain().out == "consolidate: 2 drained, 0 already stored, 0 failed\n"


def test_a_chat_that_goes_on_is_no_other_run(workspace):
    workspace.capture(workspace.write(CHAT))
    assert workspace.capture(workspace.write(CHAT + JOB)).err == ""


def test_an_empty_transcript_is_told(workspace):
    done = capture_job(workspace, "")
    assert (done.code, done.err) == (0, "The transcript is empty; nothing was queued.\n")


def test_before_the_drain_a_search_tells_what_waits_for_it(workspace):
    capture_job(workspace, JOB)
    for done in (
        ask(workspace, "mm_search", memory_stage="any"),
        ask(workspace, "mm_session_recall", session_id="job"),
    ):
        assert f"1 capture(s) of {AGENT} wait for the next drain" in done.err
    workspace.drain()
    assert ask(workspace, "mm_search", memory_stage="any").err == ""


def test_a_sentence_that_finds_nothing_is_told_how_words_match(workspace):
    done = ask(workspace, "mm_search", query="what did the job do?", memory_stage="any")
    assert "All words of the query must match" in done.err
    assert ask(workspace, "mm_search", query="job", memory_stage="any").err == ""


@both
def test_entries_as_data_tell_session_channel_and_time(workspace):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    done = ask(workspace, "mm_search", "--data", query="November", memory_stage="any")
    [entry] = json.loads(done.out)["entries"]
    assert (entry["session_id"], entry["channel"]) == (SESSION, "telegram:dm")
    assert entry["at"].startswith("2026-10-03T16:0")


def test_root_is_refused_in_the_workspace_of_another_user(workspace, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(workspace.folder, 12345, 12345)
    for done in (capture_job(workspace, JOB), workspace.drain(), ask(workspace, "mm_search")):
        assert done.code == 2
        assert "belongs to #12345" in done.err
        assert "sudo -u" in done.err
    assert list(workspace.folder.iterdir()) == []


def test_the_doctor_names_all_files_of_another_user_and_the_command_that_helps(
    workspace, monkeypatch
):
    capture_job(workspace, JOB)
    workspace.drain()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    found = {one.name: one for one in examination.findings(workspace.settings, AGENT, NOW)}
    foreign = found["foreign-files"]
    assert "memories.db" in foreign.what
    assert f"chown -R daemon {workspace.path}" in foreign.next
    monkeypatch.setattr(os, "geteuid", lambda: me)
    assert "foreign" not in doctor(workspace).out


@both
def test_recent_activity_leaves_out_the_summary_of_a_session_that_said_something(workspace):
    workspace.environment |= {"MM_WORKING_COMPILE": "1", "MM_WORKING_AUTO_REFRESH": "1"}
    plain = workspace.write(lines_of(("assistant", "The weather is fine.")), "plain.jsonl")
    workspace.capture(plain, session="quiet-one")
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    recent = (workspace.folder / "MEMORY.md").read_text().partition("Recent")[2]
    assert "Decided to hold" in recent
    assert "session quiet-one" in recent
    assert f"session {SESSION}" not in recent
    assert "not represented" not in recent


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_promoted_memories_are_in_the_memory_file_at_once(workspace):
    workspace.capture(workspace.write(CHAT))
    workspace.drain()
    where = ("consolidate", "--agent-id", AGENT, "--promote-only", "--config-dir", workspace.path)
    assert "2 promoted" in workspace.run(*where, MM_WORKING_PROMOTE="1").out
    lasting = (workspace.folder / "MEMORY.md").read_text().partition("Long-term")[2]
    assert "Decided to hold" in lasting.partition("Recent")[0]


def test_a_program_reads_what_was_done_as_json(workspace):
    done = capture_job(workspace, JOB, "--json")
    assert json.loads(done.out) == {
        "agent": AGENT,
        "session_id": "job",
        "queued": 2,
        "known": 0,
        "malformed": 0,
        "dropped": 0,
        "replaces": False,
    }
    options = ("--agent", AGENT, "--json", "--config-dir", workspace.path)
    both_steps = workspace.run("consolidate", *options)
    assert json.loads(both_steps.out) == {
        "drained": 2,
        "known": 0,
        "failed": 0,
        "promoted": 0,
        "expired": 0,
    }
    drain = workspace.run("consolidate", "--drain-only", *options)
    assert json.loads(drain.out) == {"drained": 0, "known": 0, "failed": 0}


def test_with_a_queue_that_is_none_an_answer_stands_and_the_doctor_names_the_place(workspace):
    capture_job(workspace, JOB)
    workspace.drain()
    os.rename(workspace.folder / "queue", workspace.folder / "elsewhere")
    (workspace.folder / "queue").touch()
    asked = ask(workspace, "mm_search", query="nowhere to be found")
    assert (asked.code, "No memories found" in asked.out) == (0, True)
    found = doctor(workspace, "--agent", "support-bt")
    assert (found.code, "cannot be read: Not a directory" in found.out) == (1, True)
    refused = capture_job(workspace, JOB, session="two")
    assert f"{workspace.path}/queue: Not a directory; nothing was queued." in refused.err
    forget = ("forget", "--agent", AGENT, "--session-id", "job", "--yes")
    done = workspace.run(*forget, "--config-dir", workspace.path)
    assert (done.code, "; what waits there is not forgotten." in done.err) == (1, True)


def test_the_doctor_names_what_this_user_cannot_write(workspace, monkeypatch):
    capture_job(workspace, JOB)
    queue = os.path.join(workspace.path, "queue")
    monkeypatch.setattr(os, "access", lambda place, _mode: place != queue)
    told = examination.findings(workspace.settings, AGENT, NOW)
    named = [(one.severity, one.what) for one in told if one.name == "read-only"]
    assert named == [("error", f"{queue} cannot be written")]
