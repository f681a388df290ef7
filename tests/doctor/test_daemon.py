"""The running daemon, as another process sees it."""

import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from mash_plugin.doctor.daemon import check_daemon
from mash_plugin.doctor.machine import Machine, Rendering
from tests.doctor.examined import examined, fix, is_gone, mend, named
from tests.doctor.machines import machine_at
from tests.support.daemons import Place, impostor
from tests.support.homes import Home
from tests.support.processes import daemons_of


def test_no_daemon_is_no_fault_and_none_is_started(home: Home) -> None:
    home.mash("daemon", "stop")
    assert "start it when they need it" in named(home, "daemon", "daemon")["what"]
    assert examined(home)[0] == 0
    assert daemons_of(home.mash_home) == []


def test_a_daemon_that_does_not_answer_is_replaced_by_the_printed_command(home: Home) -> None:
    home.mash("daemon", "start")
    (pid,) = daemons_of(home.mash_home)
    os.kill(pid, signal.SIGSTOP)
    found = mend(home, "daemon", "daemon-silent")
    assert found["severity"] == "error"
    assert "does not answer" in found["what"]
    assert daemons_of(home.mash_home) != [pid]


def test_a_daemon_of_another_environment_is_named_and_replaced(home: Home) -> None:
    other = home.root / "other"
    (other / "bin").mkdir(parents=True)
    here = Path(sys.executable)
    (other / "bin/python").symlink_to(here.resolve())
    (other / "pyvenv.cfg").write_bytes((here.parents[1] / "pyvenv.cfg").read_bytes())
    (other / "lib").symlink_to(here.parents[1] / "lib")
    for replace in (mend, fix):
        home.mash("daemon", "stop")
        home.run(str(other / "bin/python"), "-I", "-m", "mash_plugin", "daemon", "start")
        found = named(home, "daemon", "daemon-of-another")
        assert found["severity"] == "warning"
        assert str(other / "bin/python") in found["what"]
        replace(home, "daemon", "daemon-of-another")


def test_what_keeps_the_daemon_from_saving_is_told(home: Home) -> None:
    home.mash("daemon", "stop")
    store = home.mash_home / "data/records.db"
    content = store.read_bytes()
    store.write_bytes(b"no database" * 1000)
    home.mash("daemon", "start")
    found = named(home, "daemon", "daemon-problem")
    assert "damaged" in found["what"]
    assert "mash doctor" not in found["what"]
    assert found["next"] == ""  # starting anew is no help: the store says what is
    home.mash("daemon", "stop")
    store.write_bytes(content)
    home.mash("daemon", "start")
    assert is_gone(home, "daemon", "daemon-problem")


def test_an_unsafe_place_is_left_to_the_check_of_the_places(tmp_path: Path) -> None:
    machine = machine_at(tmp_path)
    Path(machine.paths.run).mkdir(parents=True, mode=0o755)
    assert list(check_daemon(machine)) == []


@pytest.mark.spec("R-183")
def test_in_a_sandbox_nothing_is_examined(fresh: Home) -> None:
    fresh.mash("init", "--yes", "--no-agents", "--no-index")
    done = fresh.run("codex", "sandbox", "--", "mash", "doctor", timeout_s=20)
    assert done.code == 4, done
    assert "sandboxed" in done.err
    done = fresh.run("codex", "sandbox", "--", "mash", "doctor", "--json", timeout_s=20)
    assert done.code == 4, done
    assert '"sandboxed"' in done.out


def test_a_reading_of_the_chats_that_failed_is_told(tmp_path: Path) -> None:
    place = Place(tmp_path)
    status = {"pid": 1, "problem": None, "index": {"error": "disk I/O error"}}

    def answer(connection: socket.socket) -> None:
        connection.sendall(json.dumps({"v": 1, "result": status}).encode() + b"\n")

    with impostor(place, answer):
        machine = Machine(place.paths, {}, 0, lambda: Rendering("", {}), lambda: None)
        answers, failed = check_daemon(machine)
    assert answers.severity == "ok"
    assert (failed.name, failed.next) == ("index-failed", "mash index")
    assert "disk I/O error" in failed.what
