"""How long hooks waited is told over restarts, for a bounded number of days."""

import pytest

from mash_plugin.errors import DiskFull
from mash_plugin.store.latency import KEPT_DAYS, MOST_HOOKS
from mash_plugin.store.sessions import HookState
from tests.store.conftest import opened
from tests.store.saving import DAY, NOW


@pytest.fixture
def database(paths):
    with opened(paths) as found:
        yield found


def test_answers_fall_into_columns_and_are_told_before_and_after_they_are_written(database):
    latency = HookState(database).latency
    for number, took_ms in enumerate((0.4, 1.0, 1.1, 250.0)):
        latency.add("prompt-submit", took_ms, NOW + number)
    expected = ({"prompt-submit": [2, 1, 0, 0, 0, 0, 0, 0, 1]}, NOW)
    assert latency.told() == expected


def test_a_new_daemon_goes_on_counting_and_tells_since_when(database):
    first = HookState(database)
    first.latency.add("file-read", 3.0, NOW + 7)
    first.latency.add("file-read", 3.0, NOW)
    assert first.flush(NOW) == 0  # of sessions
    later = HookState(database)
    later.latency.add("file-read", 3.0, NOW + 2 * DAY)
    later.latency.add("session-start", 9.0, NOW + 2 * DAY)
    expected = (
        {"file-read": [0, 0, 3, 0, 0, 0, 0, 0, 0], "session-start": [0, 0, 0, 1, 0, 0, 0, 0, 0]},
        NOW,
    )
    assert later.latency.told() == expected
    later.flush(NOW)
    assert later.latency.told() == expected


def test_days_long_gone_are_dropped_but_not_by_a_clock_that_jumped(database):
    state = HookState(database)
    for back in (KEPT_DAYS, KEPT_DAYS - 1, 1, -1_000, 0):
        state.latency.add("file-read", 0.5, NOW - back * DAY)
        state.flush(NOW)
    told = state.latency.told()
    assert (told.hooks["file-read"][0], told.since) == (4, NOW - (KEPT_DAYS - 1) * DAY)


def test_answers_that_cannot_be_written_are_counted_with_the_next_ones(database, monkeypatch):
    state = HookState(database)
    state.latency.add("file-read", 0.5, NOW)

    def full():
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(database, "writing", full)
        with pytest.raises(DiskFull):
            state.flush(NOW)
    state.latency.add("file-read", 0.5, NOW + 1)
    state.flush(NOW)
    assert HookState(database).latency.told() == ({"file-read": [2, *[0] * 8]}, NOW)


def test_made_up_names_of_hooks_do_not_fill_the_store(database):
    state = HookState(database)
    for number in range(MOST_HOOKS + 5):
        state.latency.add(f"hook-{number}", 0.5, NOW)
    state.latency.add("hook-0", 0.5, NOW)
    state.flush(NOW)
    hooks = state.latency.told().hooks
    assert (len(hooks), hooks["hook-0"][0]) == (MOST_HOOKS, 2)
