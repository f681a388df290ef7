"""Status and doctor tell how many answers to hooks came too late, where there were some."""

import json
from pathlib import Path

from mash_plugin import connecting
from mash_plugin.doctor.heartbeats import check_late_hooks
from tests.doctor.examined import named
from tests.doctor.machines import machine_at
from tests.support.daemons import Place, event
from tests.support.homes import Home


def miss_a_start(place: Place) -> None:
    """A session that begins with its prompt: no start of it reached the daemon.

    No hook says it here, which may be late itself on a busy machine.
    """
    connection = connecting.connect(place.paths, 10.0)
    assert connection is not None
    with connection:
        frame = b"mash/1 hook prompt-submit claude-code\n"
        connection.sendall(frame + event("UserPromptSubmit", prompt="Fix it"))
        assert b"Saving memory" in connection.recv(1 << 16)


def test_late_hooks_are_told_whether_or_not_the_daemon_runs(tmp_path: Path) -> None:
    place = Place(tmp_path)
    try:
        now = int(place.start().pid and place.call("ping")["started_at"])
        machine = machine_at(tmp_path, now=now)
        assert list(check_late_hooks(machine)) == []
        miss_a_start(place)
        (running,) = check_late_hooks(machine)
        assert (running.name, running.severity) == ("hooks-late", "note")
        assert "1 answer to hooks (session-start 1) came too late" in running.what
        assert "came with its next prompt" in running.why
        assert place.paths.log in running.next
        place.call("stop")
        place.children[0].wait(20)
        (kept,) = check_late_hooks(machine)
        assert kept == running
        two_days = 2 * 86_400_000
        assert list(check_late_hooks(machine_at(tmp_path, now=now + two_days))) == []
    finally:
        place.close()


def test_a_home_without_a_store_had_no_late_hooks(tmp_path: Path) -> None:
    assert list(check_late_hooks(machine_at(tmp_path))) == []


def test_status_says_it_and_points_at_the_doctor(home: Home) -> None:
    before = home.mash("status")
    assert "Late" not in before.out
    place = Place(home.root)
    place.environment = home.environment
    miss_a_start(place)
    assert json.loads(home.mash("status", "--json").out)["late_hooks"] == {"session-start": 1}
    shown = home.mash("status")
    late = "Late since yesterday: 1 answer to hooks (session-start 1) (`mash doctor` tells more)"
    assert late in " ".join(shown.out.split())
    assert named(home, "agents", "hooks-late")["severity"] == "note"
