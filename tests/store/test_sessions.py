"""Hook state: in memory at once, in the store a little later."""

import threading
from contextlib import contextmanager

import pytest

from mash_plugin.errors import DiskFull
from mash_plugin.records.cues import reminder_due
from mash_plugin.store.session_rows import find_sessions
from mash_plugin.store.sessions import HookState
from tests.store.conftest import opened
from tests.store.saving import DAY, NOW


@pytest.fixture
def database(paths):
    with opened(paths) as found:
        yield found


def _rows(database, table):
    with database.reading() as db:
        return db.all(f"SELECT * FROM {table} ORDER BY 1, 2, 3")  # noqa: S608


def test_nothing_is_written_before_the_flush(database):
    state = HookState(database)
    state.touch("s", "codex", "session-start", NOW)
    state.claim_block("s", "startup", NOW)
    assert _rows(database, "hook_sessions") == []
    assert state.flush(NOW) == 1
    row = ("s", "codex", NOW, None, NOW, "startup", NOW, None)
    assert _rows(database, "hook_sessions") == [row]
    assert state.flush(NOW) == 0


def test_a_new_daemon_goes_on_where_the_old_one_stopped(database):
    state = HookState(database)
    state.touch("s", "codex", "session-start", NOW)
    state.claim_shown("s", "", "a.py", ["r-1"], NOW)
    state.flush(NOW)
    later = HookState(database)
    assert later.touch("s", "codex", "file-read", NOW + 5).first_seen_at == NOW
    assert later.claim_shown("s", "", "a.py", ["r-1", "r-2"], NOW + 5) == {"r-2"}


def test_after_a_compaction_all_comes_again_on_disk_too_and_stays_in_the_log(database):
    state = HookState(database)
    state.touch("s", "codex", "file-read", NOW)
    state.claim_shown("s", "", "a.py", ["r-1"], NOW)
    state.flush(NOW)
    state.note_shown("s", ["r-3"], NOW)
    state.claim_block("s", "compact", NOW + 1)
    state.claim_shown("s", "", "b.py", ["r-2"], NOW + 2)
    state.flush(NOW + 2)
    assert _rows(database, "hook_files") == [
        ("s", "", "", "r-3", NOW, 0),
        ("s", "", "a.py", "r-1", NOW, 0),
        ("s", "", "b.py", "r-2", NOW + 2, 1),
    ]
    later = HookState(database)
    later.touch("s", "codex", "file-read", NOW + 3)
    assert later.claim_shown("s", "", "a.py", ["r-1"], NOW + 3) == {"r-1"}
    assert later.claim_shown("s", "", "b.py", ["r-2"], NOW + 3) == set()


def test_a_block_that_comes_again_is_noted_again(database):
    state = HookState(database)
    state.touch("s", "codex", "session-start", NOW)
    for at in (NOW, NOW + 1):
        state.note_shown("s", ["r-1"], at)
        state.flush(at)
    assert [row[4] for row in _rows(database, "hook_files")] == [NOW, NOW + 1]


def test_a_flush_that_fails_loses_nothing(database, monkeypatch):
    state = HookState(database)
    state.touch("s", "codex", "file-read", NOW)
    state.claim_shown("s", "", "a.py", ["r-1"], NOW)

    def full():
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(database, "writing", full)
        with pytest.raises(DiskFull):
            state.flush(NOW)
    assert state.flush(NOW) == 1
    assert len(_rows(database, "hook_files")) == 1
    assert _rows(database, "hook_heartbeats") == [("codex", "file-read", NOW)]


def test_who_flushes_in_order_to_read_finds_what_another_thread_is_writing(database, monkeypatch):
    state, writing, seen = HookState(database), database.writing, []
    state.touch("s-1", "claude-code", "prompt-submit", NOW)

    def look():
        state.flush(NOW)
        with database.reading() as db:
            seen.extend(found.session_id for found in find_sessions(db, None, None, 2))

    other = threading.Thread(target=look)

    @contextmanager
    def slowly():
        other.start()
        other.join(0.2)  # it must not get past the flush that holds its session
        with writing() as db:
            yield db

    with monkeypatch.context() as patch:
        patch.setattr(database, "writing", slowly)
        state.flush(NOW)
    other.join()
    assert seen == ["s-1"]


def test_two_prompts_at_once_get_one_reminder(database):
    state = HookState(database)
    state.touch("s", "codex", "prompt-submit", NOW)
    start, given = threading.Barrier(8), []

    def prompt():
        start.wait()
        given.append(state.claim_reminder("s", NOW + 15 * 60_000, reminder_due))

    threads = [threading.Thread(target=prompt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given.count(True) == 1


@pytest.mark.row(39)
def test_sessions_long_gone_are_dropped_but_not_by_a_clock_that_jumped(database):
    state = HookState(database)
    state.touch("old", "codex", "file-read", NOW)
    state.flush(NOW + 1_000 * DAY)
    assert len(_rows(database, "hook_sessions")) == 1
    state.touch("new", "codex", "file-read", NOW + 91 * DAY)
    state.flush(NOW + 91 * DAY)
    assert [row[0] for row in _rows(database, "hook_sessions")] == ["new"]


def test_memory_holds_a_bounded_number_of_sessions(database, monkeypatch):
    monkeypatch.setattr("mash_plugin.store.sessions.SESSIONS_IN_MEMORY", 3)
    state = HookState(database)
    for number in range(10):
        state.touch(f"s-{number}", "codex", "file-read", NOW + number)
        state.claim_block(f"s-{number}", "startup", NOW + number)
        state.flush(NOW + number)
    assert len(state._sessions) <= 4
    state.touch("s-0", "codex", "file-read", NOW + 20)
    assert not state.claim_block("s-0", "startup", NOW + 20)


def test_where_nothing_can_be_written_memory_is_bounded_all_the_same(database, monkeypatch):
    monkeypatch.setattr("mash_plugin.store.sessions.SESSIONS_IN_MEMORY", 3)
    monkeypatch.setattr("mash_plugin.store.ledger.MOST_UNSAVED", 8)
    state = HookState(database)
    database.problem = DiskFull("full")
    for number in range(20):
        state.touch(f"s-{number}", "codex", "file-read", NOW + number)
        state.ledger.add(f"s-{number}", "file-read", 10)
        with pytest.raises(DiskFull):
            state.flush(NOW + number)
    assert len(state._sessions) == 6
    assert len(state.ledger._unsaved) == 8
    database.problem = None
    assert state.flush(NOW + 20) == 6
    assert [row[0] for row in _rows(database, "hook_sessions")] == [
        f"s-{number}" for number in range(14, 20)
    ]


def test_a_context_that_was_shown_very_much_is_shown_no_more(database, monkeypatch):
    monkeypatch.setattr("mash_plugin.store.session_rows.MOST_SHOWN", 3)
    state = HookState(database)
    state.touch("s", "codex", "file-read", NOW)
    for number in range(10):
        new = state.claim_shown("s", "", f"{number}.py", [f"r-{number}"], NOW)
        assert bool(new) is (number < 3)
    state.flush(NOW)
    assert len(_rows(database, "hook_files")) == 3
    state.claim_block("s", "compact", NOW)
    assert state.claim_shown("s", "", "9.py", ["r-9"], NOW) == {"r-9"}


def test_hooks_of_made_up_names_leave_few_heartbeats(database):
    state = HookState(database)
    state.touch("s", "codex", "file-read", NOW)
    for number in range(200):
        state.touch("s", "codex", f"made-up-{number}", NOW)
    state.touch("s", "codex", "file-read", NOW + 5)
    state.flush(NOW)
    told = state.heartbeats.all()
    assert len(told) == 64
    assert {"agent": "codex", "hook": "file-read", "seen_at": NOW + 5} in told


def test_heartbeats_tell_the_last_hook_of_each_agent(database):
    HookState(database).flush(NOW)
    state = HookState(database)
    state.touch("s", "codex", "file-read", NOW)
    state.flush(NOW)
    state.touch("s", "codex", "file-read", NOW + 5)
    state.touch("t", "claude-code", "session-start", NOW + 7)
    assert state.heartbeats.all() == [
        {"agent": "claude-code", "hook": "session-start", "seen_at": NOW + 7},
        {"agent": "codex", "hook": "file-read", "seen_at": NOW + 5},
    ]
