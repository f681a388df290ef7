"""Every switch, from the environment, the settings and the repository."""

import pytest

from mash_plugin.memory.call import Caller
from mash_plugin.memory.record import apply_change
from mash_plugin.protocol import validate
from tests.hooks_answers.conftest import make_repository

WISH = "From now on always run the linter."


def _all(desk, session):
    return (
        desk.start(session),
        desk.prompt(WISH, session),
        desk.read(str(desk.project / "a.py"), session),
    )


def _config(desk, text):
    (desk.root / "mash" / "config.toml").write_text(text)


def _assert_no_capture(desk, session):
    start, prompt, read = _all(desk, session)
    assert "Keep a.py small." in start
    assert "What is a.py for?" in start
    assert "Saving memory" not in start
    assert "More: `mcp__plugin_mash_mash__recall_records`" in start
    assert prompt == ""
    assert "Keep a.py small." in read
    desk.now += 3_600_000
    assert desk.prompt(session=session) == ""


def _assert_no_recall(desk, session):
    start, prompt, read = _all(desk, session)
    assert "Keep a.py small." not in start + read
    assert "What is a.py for?" in start
    assert "What is a.py for?" in read
    assert "Saving memory" in start
    assert prompt


@pytest.mark.spec("R-136")
@pytest.mark.parametrize("value", ["off", "OFF", "0", "false", "No"])
def test_capture_off_takes_the_notes_and_leaves_recall(told, value):
    told.switches["MASH_RECORD_CAPTURE"] = value
    _assert_no_capture(told, "s-1")


@pytest.mark.spec("R-136")
def test_capture_off_leaves_the_record_tool(told):
    switches = {"MASH_RECORD_CAPTURE": "off"}
    call = told.node.call(Caller("claude-code", "old-1", None), told.now, switches)
    change = {
        "action": "create",
        "scope": {"kind": "personal"},
        "body": {"statement": "Tabs.", "details": {"kind": "decision", "state": "proposed"}},
        "evidence": [{"session_id": "old-1", "quote": "What is a.py for?"}],
    }
    request = validate("record", {"operation_id": "one", "change": change})
    assert apply_change(call, request)["revision"] == 1


@pytest.mark.spec("R-137")
@pytest.mark.row(28)
def test_recall_off_takes_the_records_and_leaves_the_rest(told):
    told.switches["MASH_RECORD_RECALL"] = "off"
    _assert_no_recall(told, "s-1")


def test_what_a_start_without_recall_left_out_comes_with_a_resume(told):
    told.switches["MASH_RECORD_RECALL"] = "off"
    assert "Keep a.py small." not in told.start()
    told.switches.clear()
    assert "Keep a.py small." in told.start(source="resume")
    assert told.start(source="resume") == ""


@pytest.mark.spec("R-138")
def test_file_recall_off_silences_the_file_hook_alone(told):
    told.switches["MASH_FILE_RECALL"] = "off"
    start, prompt, read = _all(told, "s-1")
    assert start
    assert prompt
    assert read == ""


@pytest.mark.spec("R-139")
def test_records_switched_off_in_the_settings_end_capture(told):
    _config(told, "[records]\nenabled = false\n")
    _assert_no_capture(told, "s-1")


@pytest.mark.parametrize("entry", ["github.com/acme/shop", "PROJECT"])
def test_a_project_can_be_named_in_the_settings(told, entry):
    entry = entry.replace("PROJECT", str(told.project))
    _config(told, f'[projects]\nno_capture = ["{entry}"]\n')
    _assert_no_capture(told, "s-1")
    _config(told, f'[projects]\nno_recall = ["{entry}"]\n')
    _assert_no_recall(told, "s-2")
    _config(told, f'[projects]\ndeny = ["{entry}"]\n')
    assert _all(told, "s-3") == ("", "", "")


def test_a_marker_in_the_repository_only_switches_off(told):
    marker = told.project / ".mash"
    marker.write_text("capture = off\n")
    _assert_no_capture(told, "s-1")
    marker.write_text("recall = off\n")
    _assert_no_recall(told, "s-2")
    marker.write_text("capture = on\nrecall = on\n")
    told.switches.update(MASH_RECORD_CAPTURE="off", MASH_RECORD_RECALL="off")
    start, prompt, _ = _all(told, "s-3")
    assert "Saving memory" not in start
    assert "Keep a.py small." not in start
    assert prompt == ""


@pytest.mark.parametrize("marker", ["", "off\n", "captrue = off\n"])
def test_a_project_that_is_off_as_a_whole_is_met_with_silence(told, marker):
    told.chat("Why is a.py slow?", "earlier", make_repository(told.root / "other-clone"))
    assert "Why is a.py slow?" in _all(told, "s-0")[0]
    (told.project / ".mash").write_text(marker)
    assert _all(told, "s-1") == ("", "", "")


def test_denied_and_unindexed_projects_are_not_queued_for_the_index(told):
    path = str(told.root / "t.jsonl")
    for text in ("deny", "no_index"):
        _config(told, f'[projects]\n{text} = ["github.com/acme/shop"]\n')
        told.say("reminder-timer", "Stop", transcript_path=path)
    _config(told, "")
    (told.project / ".mash").write_text("index = off\n")
    told.say("reminder-timer", "Stop", transcript_path=path)
    assert told.queued == []


def test_without_the_index_nothing_asks_to_save(told):
    for text in ("index = off\n", ""):
        (told.project / ".mash").write_text(text)
        start, prompt, _ = _all(told, f"s-{len(text)}")
        assert "Saving memory" not in start
        assert prompt == ""
    (told.project / ".mash").unlink()
    _config(told, f'[projects]\nno_index = ["{told.project}"]\n')
    start, prompt, read = _all(told, "s-x")
    assert "Keep a.py small." in start + read
    assert "Saving memory" not in start
    assert prompt == ""


def test_chats_that_are_not_to_be_read_are_not_named_either(told):
    for switch in (f'no_index = ["{told.project}"]', 'no_index = ["github.com/acme/*"]'):
        _config(told, f"[projects]\n{switch}\n")
        assert "What is a.py for?" not in "".join(_all(told, f"s-{switch}"))
    _config(told, "")
    (told.project / ".mash").write_text("index = off\n")
    assert "What is a.py for?" not in "".join(_all(told, "s-m"))
    (told.project / ".mash").unlink()
    assert "What is a.py for?" in "".join(_all(told, "s-n"))


def test_chats_of_a_clone_that_is_left_out_are_not_named_in_another(told):
    clone = make_repository(told.root / "elsewhere" / "shop")
    told.chat("Why is a.py so long?", "old-2", clone)
    _config(told, f'[projects]\ndeny = ["{clone.parent}"]\n')
    start, _, read = _all(told, "s-1")
    assert "What is a.py for?" in start
    assert "What is a.py for?" in read
    assert "so long" not in start + read


def test_our_own_agents_hear_nothing_and_are_not_indexed(told):
    told.switches["MASH_INTERNAL"] = "1"
    assert _all(told, "s-1") == ("", "", "")
    told.say("reminder-timer", "Stop", transcript_path="/t.jsonl")
    assert told.queued == []


def test_a_broken_configuration_leaves_recall_and_ends_capture(told):
    _config(told, "[records\n capture = ")
    _assert_no_capture(told, "s-1")


def test_a_configuration_that_breaks_leaves_what_it_said_before(told):
    _config(told, f'[projects]\ndeny = ["{told.project}"]\n')
    assert _all(told, "s-1") == ("", "", "")
    _config(told, f'[projects]\ndeny = ["{told.project}"\n')
    assert _all(told, "s-2") == ("", "", "")
