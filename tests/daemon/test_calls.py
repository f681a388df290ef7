"""Calls of the daemon's methods: nothing acknowledged is lost, nothing is done twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from mash_plugin import connecting
from mash_plugin.cli.stopping import end_daemon
from mash_plugin.daemon.log import Log
from mash_plugin.daemon.requests import Requests
from mash_plugin.errors import DaemonUnavailable, InvalidArgument, QuoteNotFound, Sandboxed
from mash_plugin.store.backup import verify
from tests.support.daemons import Place, event
from tests.support.polling import eventually
from tests.support.transcripts import ClaudeTranscript

QUESTION = "Which vector store should we use locally?"


@pytest.fixture
def session(place: Place) -> ClaudeTranscript:
    """A session whose transcript lies where the daemon looks."""
    transcript = ClaudeTranscript(place.home / ".claude", str(place.root / "work"), "s-1")
    transcript.person(QUESTION)
    return transcript


def candidate(statement: str) -> dict[str, Any]:
    return {
        "operation_id": f"operation-{statement}",
        "change": {
            "action": "create",
            "scope": {"kind": "personal"},
            "body": {
                "statement": statement,
                "details": {"kind": "decision", "state": "proposed"},
            },
            "evidence": [{"session_id": "s-1", "quote": QUESTION}],
        },
    }


def statements(place: Place) -> list[str]:
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = place.call("list_records", {"include_inactive": True, "limit": 50, "offset": offset})
        found += [one["statement"] for one in page["records"]]
        offset = page.get("next_offset")
    return found


@pytest.mark.spec("R-183")
@pytest.mark.row(29)
def test_no_acknowledged_record_is_lost_to_kills_and_none_is_there_twice(
    place: Place, session: ClaudeTranscript
) -> None:
    acknowledged: list[str] = []
    is_over = threading.Event()

    def write(writer: int) -> None:
        number = 0
        while not is_over.is_set():
            statement = f"writer {writer} chose {number}"
            for _ in range(200):  # the same operation ID until it is acknowledged
                try:
                    place.call("record", candidate(statement))
                except DaemonUnavailable:
                    continue
                acknowledged.append(statement)
                break
            number += 1

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for number in range(8):
        wanted = len(acknowledged) + 2 + number
        eventually(lambda: len(acknowledged) > wanted, "no progress", every_s=0.001)  # noqa: B023
        for pid in place.daemons():
            os.kill(pid, signal.SIGKILL)
    is_over.set()
    for thread in threads:
        thread.join(60)
    assert sorted(statements(place)) == sorted(set(acknowledged))


@pytest.mark.row(36)
def test_a_damaged_record_is_named_in_the_log_without_its_text(
    place: Place, session: ClaudeTranscript
) -> None:
    damaged = place.call("record", candidate("Use Qdrant."))["id"]
    end_daemon(place.paths)
    store = apsw.Connection(place.paths.store)
    store.execute("DROP TRIGGER revisions_immutable")
    store.execute("UPDATE revisions SET statement = 'something else'")
    store.close()
    assert statements(place) == []
    log = Path(place.paths.log).read_text()
    assert f"damaged-record id={damaged}" in log
    assert "something" not in log


@pytest.mark.spec("R-183")
@pytest.mark.row(11)
def test_a_daemon_that_dies_between_commit_and_reply_leaves_the_outcome_unknown(
    place: Place, session: ClaudeTranscript, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.call("ping")
    place.call("stop")
    eventually(lambda: not place.daemons(), "it lives on")
    monkeypatch.setenv("MASH_FAILPOINT", "after_commit_before_reply:kill")
    with pytest.raises(DaemonUnavailable) as caught:
        place.call("record", candidate("kept"))
    assert caught.value.details == {"outcome": "unknown"}
    monkeypatch.delenv("MASH_FAILPOINT")
    eventually(lambda: not place.daemons(), "it lives on")
    again = place.call("record", candidate("kept"))
    assert again["replayed"] is True
    assert statements(place) == ["kept"]


@pytest.mark.row(11, 25)
def test_a_call_whose_daemon_died_is_asked_once_more_and_done_once(
    place: Place, session: ClaudeTranscript
) -> None:
    dying = place.start(MASH_FAILPOINT="after_commit_before_reply:kill")
    answer = place.call("record", candidate("kept"))
    assert answer["replayed"] is True
    assert dying.wait(20) == -signal.SIGKILL
    assert statements(place) == ["kept"]


def test_failpoints_need_the_testing_variable(place: Place) -> None:
    environment = {"MASH_TESTING": "", "MASH_FAILPOINT": "after_commit_before_reply:kill"}
    daemon = place.start(**environment)
    assert place.call("ping", start=False)["pid"] == daemon.pid


def test_a_daemon_that_is_not_wanted_is_not_started(place: Place) -> None:
    with pytest.raises(DaemonUnavailable, match="mash daemon start"):
        place.call("ping", start=False)
    assert not place.daemons()
    assert not os.path.exists(place.paths.run)


def test_an_unknown_method_is_told_the_known_ones(place: Place) -> None:
    with pytest.raises(InvalidArgument, match="recall_records"):
        place.call("recal_records")


SANDBOX = """
import errno, sys
def deny(name, arguments):
    if name == {event!r}:
        raise PermissionError(errno.EPERM, "Operation not permitted")
sys.addaudithook(deny)
from mash_plugin.cli.main import main
sys.argv[1:] = ["daemon", {command!r}]
main()
"""


@pytest.mark.parametrize("forbidden", ["socket.__new__", "socket.connect"])
@pytest.mark.parametrize("command", ["status", "start", "stop"])
@pytest.mark.row(20)
def test_a_sandboxed_shell_is_told_so_and_starts_nothing(
    place: Place, forbidden: str, command: str
) -> None:
    place.start()
    before = place.daemons()
    ran = subprocess.run(
        [sys.executable, "-c", SANDBOX.format(event=forbidden, command=command)],
        env=place.environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 4
    assert "sandboxed" in ran.stderr
    assert place.daemons() == before


@pytest.mark.row(20)
def test_only_eperm_means_a_sandbox(place: Place) -> None:
    place.start()
    denied = PermissionError(13, "Permission denied")
    assert not isinstance(connecting.forbidden(denied, place.paths), Sandboxed)


@pytest.mark.spec("R-136", "R-137")
@pytest.mark.row(28)
def test_switches_of_one_hook_do_not_reach_the_next(place: Place) -> None:
    def context(session_id: str, **switches: str) -> bytes:
        body = event("SessionStart", source="startup", session_id=session_id)
        return place.hook("session-start", body, environment=switches).out

    assert context("a", MASH_RECORD_CAPTURE="off") == b""
    assert b"Saving memory" in context("b")
    assert context("c", MASH_INTERNAL="1") == b""
    assert b"Saving memory" in context("d")


@pytest.mark.row(28)
def test_a_changed_configuration_counts_from_the_next_call(place: Place) -> None:
    file = Path(place.paths.config_file)
    place.start()
    assert place.call("status")["switches"]["capture"] is True
    file.write_text("[records]\ncapture = false\n")
    assert place.call("status")["switches"]["capture"] is False
    file.write_text("[records\n")
    status = place.call("status")
    assert status["switches"]["capture"] is False
    assert str(file) in status["settings_problem"]
    assert place.hook("session-start", event("SessionStart")).out == b""
    file.write_text("")
    assert place.hook("session-start", event("SessionStart", session_id="s-2")).out


def test_the_status_tells_who_serves_and_what_is_there(
    place: Place, session: ClaudeTranscript
) -> None:
    place.call("record", candidate("one"))
    place.hook("prompt-submit", event("UserPromptSubmit", prompt="hello"))
    status = place.call("status")
    assert [status["pid"]] == place.daemons()
    assert status["counts"]["records"] == status["counts"]["candidates"] == 1
    assert status["counts"]["chats"] == 1
    hooks = eventually(lambda: place.call("heartbeats")["hooks"], "no hook was noted")
    assert (hooks[0]["agent"], hooks[0]["hook"]) == ("claude-code", "prompt-submit")


def test_the_status_counts_nothing_that_an_agent_asked_to_forget(
    place: Place, session: ClaudeTranscript
) -> None:
    quote = "I want Qdrant here, always."
    session.person(quote)
    request = candidate("one")
    request["change"]["body"]["review"] = "established"
    request["change"]["evidence"] = [
        {"session_id": "s-1", "quote": quote, "purpose": "endorsement"}
    ]
    made = place.call("record", request)
    at = {"id": made["id"], "revision": 1}
    forget = {"operation_id": "forget", "change": {"action": "forget", "expected": at}}
    assert "removed_at" in place.call("record", forget)
    counts = place.call("status")["counts"]
    assert (counts["records"], counts["established"]) == (0, 0)


def test_transcripts_are_indexed_at_a_turns_end_and_on_request(
    place: Place, session: ClaudeTranscript
) -> None:
    place.start()
    run = place.call("index")["run"]
    report = eventually(
        lambda: (state := place.call("index_progress"))["run"] >= run and state["report"], "no end"
    )
    assert report["files"] == 1
    session.agent("I propose Qdrant.")
    stop = event("Stop", transcript_path=str(session.path), session_id="s-1")
    assert place.hook("reminder-timer", stop).out == b""
    eventually(lambda: place.call("status")["counts"]["messages"] == 2, "it was not indexed")


def test_the_daily_backup_is_made_and_a_clean_end_leaves_no_log(
    place: Place, session: ClaudeTranscript
) -> None:
    daemon = place.start()
    place.call("record", candidate("one"))
    backups = Path(place.paths.backups)
    eventually(lambda: backups.is_dir() and any(backups.iterdir()), "no backup", timeout_s=40)
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(20) == 0
    assert not [p.name for p in Path(place.paths.data).iterdir() if p.name.endswith("-wal")]


def test_a_store_deleted_under_the_daemon_is_kept_as_a_backup_when_it_stops(
    place: Place, session: ClaudeTranscript
) -> None:
    daemon = place.start()
    place.call("record", candidate("one"))
    for file in Path(place.paths.data).glob("records.db*"):
        file.unlink()
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(20) == 0
    (backup,) = Path(place.paths.backups).iterdir()
    assert verify(str(backup)).counts["records"] == 1


def test_a_daemon_whose_store_failed_ends_after_its_answer(place: Place) -> None:
    reasons: list[str] = []
    requests = Requests(place.paths, Log(str(place.root / "log")))
    requests.stop = reasons.append
    node = requests.open_node()
    requests.note_answer()
    assert reasons == []
    node.store.must_exit = True
    requests.note_answer()
    requests.close()
    assert reasons == ["store-failed"]


def test_a_made_up_time_is_obeyed_only_in_tests(place: Place, tmp_path: Path) -> None:
    place.start()
    clock = tmp_path / "now"
    made_up = int(time.time() * 1000) - 30 * 86_400_000
    clock.write_text(str(made_up))
    body = event("UserPromptSubmit", prompt="hello")
    place.hook("prompt-submit", body, environment={"MASH_TEST_NOW_MS": f"@{clock}"})
    assert seen_at(place) == made_up
    clock.write_text(f"{made_up + 9}\n")
    place.hook("prompt-submit", body, environment={"MASH_TEST_NOW_MS": f"@{clock}"})
    eventually(lambda: seen_at(place) == made_up + 9, "time stands still")
    place.call("stop")
    eventually(lambda: not place.daemons(), "it lives on")
    place.start(MASH_TESTING="0")
    place.hook("prompt-submit", body, environment={"MASH_TEST_NOW_MS": "7"})
    eventually(lambda: abs(seen_at(place) - time.time() * 1000) < 3_600_000, "a made-up time")


def seen_at(place: Place) -> int:
    hooks = eventually(lambda: place.call("heartbeats")["hooks"], "no hook was noted")
    return int(hooks[0]["seen_at"])


def test_citations_that_wait_for_their_words_hold_up_no_reader(
    place: Place, session: ClaudeTranscript
) -> None:
    place.start()
    place.call("record", candidate("kept"))
    never = candidate("never")
    never["change"]["evidence"] = [{"session_id": "s-1", "quote": "Nobody said this."}]

    def cite() -> None:
        with pytest.raises(QuoteNotFound):
            place.call("record", never)

    waiting = [threading.Thread(target=cite) for _ in range(20)]
    for thread in waiting:
        thread.start()
    eventually(lambda: place.call("status")["load"]["connections"] > 20, "not all are served")
    began = time.monotonic()
    for _ in range(5):
        assert statements(place) == ["kept"]
    assert time.monotonic() - began < 2.0
    assert any(thread.is_alive() for thread in waiting)
    for thread in waiting:
        thread.join()
