"""A made-up time counts only in tests, and only when it is one."""

import time

import pytest

from mash_plugin.daemon.clock import now_ms
from mash_plugin.made_up_time import LATEST_MS


@pytest.mark.parametrize("made_up", ["0", "1796000000000", str(LATEST_MS)])
def test_a_made_up_time_is_obeyed_in_tests_alone(
    made_up: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASH_TESTING", "1")
    assert now_ms(made_up) == int(made_up)
    monkeypatch.delenv("MASH_TESTING")
    assert abs(now_ms(made_up) - time.time() * 1000) < 60_000


@pytest.mark.parametrize("made_up", ["-1", str(LATEST_MS + 1), str(2**63), "9" * 30, "soon", "@/x"])
def test_what_is_no_time_is_ignored(made_up: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASH_TESTING", "1")
    monkeypatch.setenv("MASH_TEST_NOW_MS", "1796000000000")
    assert now_ms(made_up) == 1_796_000_000_000
