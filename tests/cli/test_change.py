"""The person's own commands: they show, they ask, and they need a terminal."""

import json
from pathlib import Path

import pytest

from tests.cli.test_chats_commands import SESSION
from tests.setup.terminals import on_a_terminal
from tests.support.homes import Home
from tests.support.saved import WORDS, begin, record, save

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def told(home: Home) -> Home:
    begin(home)
    return home


def newest(home: Home, record_id: str) -> dict[str, object]:
    """The newest revision of a record."""
    revision = json.loads(home.mash("record", record_id, "--json").out)["revisions"][0]
    assert isinstance(revision, dict)
    return revision


def state_of(home: Home, record_id: str) -> dict[str, str]:
    found = json.loads(home.mash("record", record_id, "--json").out)["record"]
    assert isinstance(found, dict)
    return found


def test_without_a_terminal_nothing_is_done_and_the_advice_is_one_line(told: Home) -> None:
    made = save(told, "candidate", "Not asked.")
    for command in (
        ["establish", made],
        ["edit", made, "--statement", "Another."],
        ["withdraw", made],
        ["withdraw", "--session", SESSION],
        ["withdraw", "--chat", f"claude-code-{SESSION}"],
        ["forget-record", made],
        ["undo", made],
    ):
        done = told.mash(*command, stdin="y\n")
        assert (done.code, done.out) == (2, ""), command
        (line,) = done.err.splitlines()
        assert "in a terminal of your own" in line
        assert ("--statement TEXT" in line) == (command[0] == "edit")
    assert newest(told, made)["revision"] == 1


@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_THREAD_ID"])
def test_a_terminal_that_an_agent_opened_is_no_persons(told: Home, variable: str) -> None:
    made = save(told, "candidate", f"Typed by an agent ({variable}).")
    for words in (("establish", made), ("forget-record", made), ("withdraw", "--session", SESSION)):
        command = ("env", f"{variable}=1", "mash", *words)
        code, shown = on_a_terminal(told, "y\n", *command)
        assert code == 2
        assert f"this is an agent's session ({variable} is set)" in " ".join(shown.split())
    assert newest(told, made)["revision"] == 1


def test_the_terminal_of_an_editor_that_knows_the_agent_is_a_persons(told: Home) -> None:
    made = save(told, "candidate", "Typed in an editor.")
    command = ("env", "CLAUDE_CODE_SSE_PORT=4711", "mash", "establish", made)
    assert on_a_terminal(told, "y\n", *command)[0] == 0


def test_a_call_never_has_the_persons_authority(told: Home) -> None:
    for method in ("terminal_change", "terminal_withdraw", "terminal_show"):
        answer = told.call(method, {"action": "establish", "id": "x", "revision": 1})
        assert answer["error"]["code"] == "invalid_argument"
        assert "no tool" in answer["error"]["message"]


def test_no_changes_nothing_and_yes_establishes(told: Home) -> None:
    made = save(told, "candidate", "Letters follow.")
    code, shown = on_a_terminal(told, "n\n", "mash", "establish", made[:8])
    assert code == 1
    assert "Says      Letters follow." in shown
    assert "Standing  decision, unconfirmed, accepted" in shown
    assert "Becomes   established, accepted" in shown
    assert "Nothing was changed." in shown
    assert state_of(told, made)["review"] == "candidate"
    code, shown = on_a_terminal(told, "y\n", "mash", "establish", made[:8])
    assert code == 0, shown
    assert f"Established: {made}, revision 2" in shown
    assert newest(told, made)["origin"] == "by the person at the terminal"
    assert "by the person at the terminal" in told.mash("record", made).out
    assert "by the person at the terminal" in told.mash("log").out
    code, shown = on_a_terminal(told, "y\n", "mash", "establish", made[:8])
    assert code == 1
    assert "established already" in shown


def test_an_interrupt_at_the_question_is_exit_code_130(told: Home) -> None:
    made = save(told, "candidate", "Interrupted.")
    code, shown = on_a_terminal(told, None, "mash", "establish", made)
    assert code == 130, shown
    assert newest(told, made)["revision"] == 1


def test_a_wording_is_changed_in_the_editor_or_on_the_command_line(
    told: Home, tmp_path: Path
) -> None:
    made = save(told, "established", "Invoices are rendered with Typst.")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/rendered/printed/ "$1"\n')
    editor.chmod(0o755)
    with_editor = ("env", f"EDITOR={editor}", "mash", "edit", made)
    code, shown = on_a_terminal(told, "y\n", *with_editor)
    assert code == 0, shown
    assert "Becomes   Invoices are printed with Typst." in shown
    revision = newest(told, made)
    assert "printed" in str(revision["body"])
    code, shown = on_a_terminal(told, "y\n", *with_editor)  # there is nothing left to replace
    assert (code, "Nothing was changed." in shown) == (1, True)
    code, shown = on_a_terminal(told, "", "env", "EDITOR=no-such-editor", "mash", "edit", made)
    assert (code, "with --statement TEXT" in shown) == (1, True)
    code, shown = on_a_terminal(
        told, "", "env", "-u", "EDITOR", "-u", "VISUAL", "mash", "edit", made
    )
    assert (code, "with --statement TEXT" in " ".join(shown.split())) == (1, True)
    code, shown = on_a_terminal(told, "y\n", "mash", "edit", made, "--statement", "Typst it is.")
    assert code == 0, shown
    assert state_of(told, made)["statement"] == "Typst it is."
    assert len(newest(told, made)["evidence"]) == 1  # type: ignore[arg-type]
    page = told.mash("record", made).out
    assert page.count("reworded by you: the quotes are what an earlier wording rests on") == 2
    on_a_terminal(told, "y\n", "mash", "withdraw", made)
    lines = [" ".join(line.split()) for line in told.mash("record", made).out.splitlines()]
    assert "Worded by the person at the terminal" in lines  # whose wording, not who withdrew it
    assert any(line.startswith("Changed") and line.endswith("revision 4") for line in lines)


@pytest.mark.spec("R-025", "R-026")
def test_what_a_changed_transcript_took_out_of_force_is_brought_back_at_the_terminal(
    fresh: Home,
) -> None:
    begin(fresh)
    kept, reworded = (save(fresh, "established", f"Letters {n}.") for n in (1, 2))
    guess = save(fresh, "candidate", "Letters 3.")
    (transcript,) = fresh.claude.glob("projects/*/*.jsonl")
    transcript.write_text(transcript.read_text().replace(WORDS, "Typst? Let me think."))
    assert fresh.mash("index").code == 0
    assert state_of(fresh, kept)["status"] == "stale_evidence"

    code, shown = on_a_terminal(fresh, "n\n", "mash", "establish", kept)
    assert (code, "again told to agents, by your own word" in shown) == (1, True)
    code, shown = on_a_terminal(fresh, "y\n", "mash", "establish", kept)
    assert (code, f"Established: {kept}, revision 2" in shown) == (0, True)
    edit = ("mash", "edit", reworded, "--statement", "Letters are set.")
    code, shown = on_a_terminal(fresh, "y\n", *edit)
    assert (code, "again told to agents, by your own word" in shown) == (0, True)
    for made in (kept, reworded):
        assert state_of(fresh, made)["status"] == "current"
        page = " ".join(fresh.mash("record", made).out.split())
        assert "none but that: the quotes of earlier wordings have changed" in page
        assert "its message has changed" in page
    code, shown = on_a_terminal(fresh, "y\n", "mash", "establish", kept)
    assert (code, "nothing is left to do" in shown) == (1, True)

    edit = ("mash", "edit", guess, "--statement", "Letters may follow.")
    code, shown = on_a_terminal(fresh, "y\n", *edit)
    assert (code, "still not told to agents by themselves" in shown) == (0, True)
    assert "`mash establish` makes it yours, as it is." in shown
    assert state_of(fresh, guess)["status"] == "stale_evidence"
    assert on_a_terminal(fresh, "y\n", "mash", "establish", guess)[0] == 0
    assert state_of(fresh, guess)["status"] == "current"


def test_a_record_is_withdrawn_and_forgotten_for_good(told: Home) -> None:
    made = save(told, "established", "Deploy on Fridays.")
    code, shown = on_a_terminal(told, "y\n", "mash", "withdraw", made)
    assert code == 0, shown
    assert state_of(told, made)["state"] == "withdrawn"
    code, shown = on_a_terminal(told, "y\n", "mash", "edit", made, "--statement", "On Fridays.")
    assert (code, "It stays out of force" in shown) == (0, True)
    told.mash("backup", "make")
    code, shown = on_a_terminal(told, "\n", "mash", "forget-record", made)
    assert code == 1, shown
    code, shown = on_a_terminal(told, "y\n", "mash", "forget-record", made)
    assert code == 0, shown
    assert "mash backup rewrite" in shown
    for name in (made, made[:8]):
        done = told.mash("record", name)
        assert done.code == 1
        assert f"Record {made} was removed" in done.err
    assert "Fridays" not in told.mash("log").out


def test_what_an_agent_forgot_is_listed_and_brought_back(told: Home) -> None:
    assert "no record is hidden" in told.mash("undo").err
    made = save(told, "established", "Keep the index small.")
    receipt = record(told, {"action": "forget", "expected": {"id": made, "revision": 1}})
    assert "removed_at" in receipt
    listed = told.mash("undo")
    assert "Keep the index small." in listed.out
    assert f"`mash undo {made[:12]}` brings it back." in listed.err
    (hidden,) = json.loads(told.mash("undo", "--json").out)["records"]
    assert hidden["record"]["id"] == made
    assert "mash undo" in told.mash("record", made).err
    assert "  hidden " in told.mash("log").out
    code, shown = on_a_terminal(told, "n\n", "mash", "undo", made[:8])
    assert code == 1, shown
    code, shown = on_a_terminal(told, "y\n", "mash", "undo")
    assert code == 0, shown
    assert "Keep the index small." in shown
    assert state_of(told, made)["status"] == "current"


@pytest.mark.parametrize("command", ["withdraw", "status", "pause"])
def test_an_empty_session_is_not_the_newest(told: Home, command: str) -> None:
    done = told.mash(command, "--session", "")
    assert done.code == 2
    assert "names no session" in done.err


def test_withdraw_takes_one_thing_at_a_time(told: Home) -> None:
    for arguments in ([], ["x", "--chat", "y"], ["--chat", "x", "--session", "y"]):
        done = told.mash("withdraw", *arguments)
        assert done.code == 2
        assert "--chat or --session" in done.err


@pytest.mark.parametrize("which", ["--session", "--chat", "newest"])
def test_all_that_a_session_saved_is_listed_and_taken_back(fresh: Home, which: str) -> None:
    begin(fresh)
    bad = save(fresh, "established", "Use the mirror of a stranger.")
    kept = save(fresh, "candidate", "Letters may follow.")
    on_a_terminal(fresh, "y\n", "mash", "establish", kept)
    arguments = {
        "--session": ("--session", SESSION[:8]),
        "--chat": ("--chat", f"claude-code-{SESSION}"),
        "newest": ("--session", "newest"),
    }
    command = ("mash", "withdraw", *arguments[which])
    code, shown = on_a_terminal(fresh, "n\n", *command)
    assert code == 1
    assert f"Session {SESSION} saved:" in shown
    assert "will be withdrawn" in shown
    assert "stays: you or another session changed it since" in shown
    assert state_of(fresh, bad)["state"] == "accepted"
    code, shown = on_a_terminal(fresh, "y\n", *command)
    assert code == 0, shown
    assert "Taken back: 1 withdrawn." in shown
    assert state_of(fresh, bad)["state"] == "withdrawn"
    assert state_of(fresh, kept)["status"] == "current"
    assert "stranger" not in fresh.mash("records").out
    code, shown = on_a_terminal(fresh, "", *command)
    assert code == 1
    assert "Nothing of this session is left" in shown
