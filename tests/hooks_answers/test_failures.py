"""Whatever a hook is fed and whatever fails: an answer, or nothing, and never late."""

import json
import threading
import time

import pytest

from mash_plugin.daemon import hook_parts, hooks
from mash_plugin.daemon.lanes import BACKLOG, Lane
from mash_plugin.errors import StoreDamaged
from tests.hooks_answers.conftest import MINUTE

HOOKS = ("session-start", "prompt-submit", "file-read", "reminder-timer")
WHOLE = b'{"session_id":"s-1","cwd":"/p","hook_event_name":"SessionStart","source":"startup"}'


@pytest.fixture
def lanes(monkeypatch):
    """Lanes that only this test blocks."""
    records, chats = Lane("records"), Lane("chats")
    monkeypatch.setattr(hook_parts, "_records_lane", records)
    monkeypatch.setattr(hook_parts, "_chats_lane", chats)
    monkeypatch.setattr(hooks, "BUDGET_S", 0.5)
    return records, chats


ODD = [
    b"",
    b" ",
    b"not json",
    b"\xef\xbb\xbf{}",
    WHOLE.decode().encode("utf-16"),
    b'{"session_id":"\xff"}',
    b"[]",
    b"null",
    b'"text"',
    b"{}",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"session_id":' + b"9" * 10_000 + b"}",
    b'{"session_id":NaN,"hook_event_name":"Stop"}',
    b'{"hook_event_name":"Stop"}',
    WHOLE[: len(WHOLE) // 2],
    b'{"session_id":"s","hook_event_name":"SessionStart","cwd":{"a":1},"source":7,"tool_input":3}',
]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "other"])
@pytest.mark.row(2, 3, 4)
def test_odd_input_gives_an_answer_or_nothing(desk, agent):
    for hook in (*HOOKS, "unheard-of"):
        for body in ODD:
            reply = desk.raw(hook, body, agent)
            assert reply == b"" or json.loads(reply)["hookSpecificOutput"]["additionalContext"]
    assert desk.failures == []


@pytest.mark.row(4)
def test_lone_surrogates_and_repeated_keys_are_read_all_the_same(desk):
    body = WHOLE.replace(b'"/p"', b'"/p\\ud83d","cwd":"/q\\ud83d"')
    assert b"Saving memory" in desk.raw("session-start", body)


@pytest.mark.spec("R-132")
def test_late_records_leave_the_chat_hints_and_the_note(told, lanes):
    release = threading.Event()
    for _ in range(2):
        lanes[0].start(release.wait)
    began = time.monotonic()
    text = told.start()
    took = time.monotonic() - began
    release.set()
    assert "What is a.py for?" in text
    assert "Saving memory" in text
    assert "Keep a.py small." not in text
    assert took < 2
    assert told.failures == [("SessionStart", "late")]


@pytest.mark.spec("R-132")
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_records_that_were_late_count_as_new_when_the_session_is_resumed(told, lanes, source):
    told.start("earlier")
    release = threading.Event()
    for _ in range(2):
        lanes[0].start(release.wait)
    told.now += MINUTE
    assert "Keep a.py small." not in told.start(source=source)
    release.set()
    text = told.start(source="resume")
    assert "Keep a.py small." in text
    assert "Saving memory" not in text
    assert told.start(source="resume") == ""


@pytest.mark.spec("R-132")
def test_late_chats_leave_the_records(told, lanes):
    release = threading.Event()
    for _ in range(2):
        lanes[1].start(release.wait)
    start, read = told.start(), told.read(str(told.project / "a.py"))
    release.set()
    assert "Keep a.py small." in start
    assert "Keep a.py small." in read
    assert "What is a.py for?" not in start + read


@pytest.mark.spec("R-132")
@pytest.mark.parametrize(
    ("hanging", "left", "gone"),
    [
        ("recall_for_hook", "What is a.py for?", "Keep a.py small."),
        ("recent_chats", "Keep a.py small.", "What is a.py for?"),
    ],
)
def test_a_part_that_hangs_takes_the_other_from_no_later_hook(
    told, lanes, monkeypatch, hanging, left, gone
):
    release = threading.Event()
    monkeypatch.setattr(hooks, "BUDGET_S", 0.2)
    monkeypatch.setattr(hook_parts, hanging, lambda *_: release.wait() and [])
    texts = [told.start(session=f"new-{number}") for number in range(4)]
    release.set()
    for text in texts:
        assert left in text
        assert gone not in text


@pytest.mark.spec("R-132")
@pytest.mark.parametrize(
    ("broken", "left", "gone"),
    [
        ("recall_for_hook", "What is a.py for?", "Keep a.py small."),
        ("recent_chats", "Keep a.py small.", "What is a.py for?"),
    ],
)
def test_a_part_that_fails_leaves_the_other(told, monkeypatch, broken, left, gone):
    def fail(*_):
        raise StoreDamaged("row 7 holds the person's words")

    monkeypatch.setattr(hook_parts, broken, fail)
    text = told.start()
    assert left in text
    assert gone not in text
    assert "Saving memory" in text
    (failure,) = told.failures
    assert failure[1].startswith("StoreDamaged@test_failures.py:")
    assert "words" not in str(failure)


def test_a_failure_of_the_whole_is_silence(told, monkeypatch):
    def fail(*_):
        raise RuntimeError("content")

    monkeypatch.setattr(told.node, "call", fail)
    assert told.start() == ""
    assert told.failures[0][1].startswith("RuntimeError@")
    monkeypatch.setattr(told.node, "on_hook_failure", fail)
    assert told.start() == ""


@pytest.mark.row(10)
def test_a_lane_that_hangs_refuses_instead_of_growing():
    lane, release = Lane("test"), threading.Event()
    parts = [lane.start(release.wait) for _ in range(BACKLOG + 4)]
    assert any(isinstance(part.error, TimeoutError) for part in parts)
    release.set()
    for part in parts:
        part.value(time.monotonic() + 5)
    assert lane.start(lambda: 7).value(time.monotonic() + 5) == 7


def test_two_jobs_of_a_lane_run_beside_each_other():
    for _ in range(50):
        lane, both = Lane("test"), threading.Barrier(2, timeout=5)
        lane.start(lambda: None).value(time.monotonic() + 5)  # now one thread is idle, or soon
        parts = [lane.start(both.wait) for _ in range(2)]
        assert {part.value(time.monotonic() + 5) for part in parts} == {0, 1}


def test_idle_threads_of_a_lane_end(monkeypatch):
    monkeypatch.setattr("mash_plugin.daemon.lanes.IDLE_S", 0.01)
    lane = Lane("idle")
    assert lane.start(lambda: 1).value(time.monotonic() + 5) == 1
    mine = [t for t in threading.enumerate() if t.name == "hook-idle"]
    for thread in mine:
        thread.join(5)
        assert not thread.is_alive()
    assert lane.start(lambda: 2).value(time.monotonic() + 5) == 2
