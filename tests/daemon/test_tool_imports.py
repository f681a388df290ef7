"""What an agent's first tool call needs is imported before it comes, and never while hooks do."""

from pathlib import Path

import pytest

from mash_plugin import client
from mash_plugin.daemon import tool_imports
from tests.support.daemons import Place
from tests.support.polling import eventually


def _checks_requests(pid: int) -> bool:
    return "_pydantic_core" in Path(f"/proc/{pid}/maps").read_text()


def test_a_client_that_may_call_tools_makes_the_daemon_ready_for_them(place: Place) -> None:
    daemon = place.start()
    with client.lease(place.paths):
        eventually(lambda: _checks_requests(daemon.pid), "nothing was imported")


def test_the_imports_wait_until_no_hook_has_come_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = iter([1, 2, 3, 3])
    left: list[int] = []
    monkeypatch.setattr(tool_imports, "QUIET_S", 0.0)
    monkeypatch.setattr(tool_imports, "import_tools", lambda: left.extend(answered))
    tool_imports.import_when_quiet(lambda: next(answered))
    assert left == []
