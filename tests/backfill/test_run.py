"""A run reviews what is due, stops at the first review that is not saved, and can go on later."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from mash_plugin.backfill.run import Options, run
from mash_plugin.errors import InvalidArgument
from tests.support.backfill_place import BackfillPlace, Instant
from tests.support.processes import processes_of
from tests.support.stub_reviewer import STATEMENT


@pytest.mark.spec("R-146", "R-148", "R-150", "R-151")
def test_every_chat_is_reviewed_once_and_again_only_when_it_has_changed(
    bench: BackfillPlace,
) -> None:
    chats = [bench.chat(f"We keep amounts in cents, {name}.", name) for name in ("one", "two")]
    told: list[str] = []
    result = bench.run(bench.plan(), Options(tell=told.append))
    found = result.as_json()["backfill"]
    assert (found["completed_reviews"], found["records_saved"]) == (2, 2)
    assert (found["pending"], found["scan_finished"], found["stopped_because"]) == (0, True, None)
    assert result.exit_code == 0
    assert {record["status"] for record in bench.records()} == {"candidate"}
    assert told[0].startswith("Review 1 of 2: We keep amounts in cents")
    assert "about" in told[1]
    assert len(bench.starts()) == 2
    again = bench.run(bench.plan()).as_json()["backfill"]
    assert (again["completed_reviews"], again["skipped"], len(bench.starts())) == (0, 2, 2)
    chats[0].person("And we round half up.")
    changed = bench.run(bench.plan()).as_json()["backfill"]
    assert (changed["completed_reviews"], changed["skipped"], len(bench.starts())) == (1, 1, 3)
    assert changed["records_saved"] == 0  # the live candidate says it already
    assert len(bench.records()) == 2


@pytest.mark.spec("R-117")
def test_a_review_that_finds_nothing_is_complete(bench: BackfillPlace) -> None:
    bench.chat("Hello.", "one")
    result = bench.run(bench.plan(), STUB="empty")
    assert (len(result.reviewed), bench.records()) == (1, [])
    assert bench.plan().of("due") == []


@pytest.mark.spec("R-151")
def test_the_agent_is_told_apart_from_the_person_and_works_in_an_empty_folder(
    bench: BackfillPlace,
) -> None:
    bench.chat("We keep amounts in cents.", "one")
    bench.run(bench.plan(), CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s-1")
    (start,) = bench.starts()
    seen = start["environment"]
    assert start["cwd"] == []
    assert seen["MASH_INTERNAL"] == "1"
    assert seen["MASH_RECORD_CAPTURE"] == seen["MASH_RECORD_RECALL"] == "off"
    assert not {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID"} & seen.keys()
    assert [path.name for path in Path(bench.place.paths.reviews).iterdir()] == ["lock"]


@pytest.mark.spec("R-147", "R-149")
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("crash", "did not finish the review: Segmentation fault"),
        ("garbage", "did not finish the review: {]"),
        ("quota", "has reached a limit of your account or its service: Claude usage limit"),
        ("refusal", "refused to review this chat: I can't help with that."),
    ],
)
@pytest.mark.row(68)
def test_a_review_that_is_not_saved_stops_the_run_with_a_plain_reason(
    bench: BackfillPlace, how: str, reason: str
) -> None:
    bench.chat("We keep amounts in cents.", "one")
    bench.chat("We keep times in UTC.", "two")
    result = bench.run(bench.plan(), STUB=how)
    found = result.as_json()["backfill"]
    assert (found["completed_reviews"], found["pending"]) == (0, 2)
    assert found["stopped_because"] == "unfinished_review"
    assert result.exit_code == 1
    assert result.unfinished
    assert reason in result.unfinished[1].reason
    assert len(bench.starts()) == 1
    assert len(bench.plan().of("due")) == 2
    assert len(bench.run(bench.plan()).reviewed) == 2


def test_a_chat_that_failed_comes_last_in_the_next_run(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "newest", hours_ago=1)
    bench.chat("We keep times in UTC.", "older", hours_ago=2)
    failed = bench.run(bench.plan(), STUB="refusal").unfinished
    assert failed
    assert failed[0].chat_id == "claude-code-newest"
    plan = bench.plan()
    assert [chat.has_failed for chat in plan.due] == [False, True]
    assert list(bench.run(plan).reviewed) == ["claude-code-older", "claude-code-newest"]
    assert not any(chat.has_failed for chat in bench.plan().chats)
    bench.chat("We never log names.", "third", hours_ago=0.5)
    assert list(bench.run(bench.plan()).reviewed) == ["claude-code-third"]


@pytest.mark.spec("R-119", "R-147")
@pytest.mark.row(68)
def test_a_chat_that_goes_on_during_its_review_stays_pending(bench: BackfillPlace) -> None:
    transcript = bench.chat("We keep amounts in cents.", "one")
    result = bench.run(bench.plan(), STUB="changed", STUB_TRANSCRIPT=str(transcript.path))
    assert result.unfinished
    assert result.unfinished[1].reason == "the chat went on during its review"
    assert bench.records() == []
    assert len(bench.run(bench.plan()).reviewed) == 1


@pytest.mark.spec("R-149")
@pytest.mark.row(68)
def test_an_agent_that_takes_too_long_is_ended_with_all_that_it_started(
    bench: BackfillPlace,
) -> None:
    bench.chat("We keep amounts in cents.", "one")
    result = bench.run(bench.plan(), Options(limit_s=0.5), STUB="deaf")
    assert result.unfinished
    assert result.unfinished[1].kind == "time_limit"
    assert "more than 0.5 s" in result.unfinished[1].reason
    left = processes_of(bench.place.mash_home).values()
    assert not [command for command in left if "sleep" in command or "stub_reviewer" in command]
    assert len(bench.plan().of("due")) == 1


@pytest.mark.spec("R-149")
def test_a_run_ends_at_its_limit_and_the_next_one_goes_on(bench: BackfillPlace) -> None:
    for number in range(3):
        bench.chat(f"We keep amounts in cents, {number}.", f"chat-{number}", hours_ago=number + 1)
    first = bench.run(bench.plan(), Options(limit=2))
    found = first.as_json()["backfill"]
    assert (found["completed_reviews"], found["pending"], found["scan_finished"]) == (2, 1, False)
    assert (first.stopped_because, first.exit_code) == ("limit", 0)
    rest = bench.run(bench.plan(), Options(limit=2))
    assert (list(rest.reviewed), rest.stopped_because) == (["claude-code-chat-2"], None)


@pytest.mark.spec("R-149")
def test_a_hundred_chats_are_one_run(bench: BackfillPlace) -> None:
    for number in range(101):
        bench.chat("Hello.", f"chat-{number:03}", hours_ago=1 + number / 100)
    chosen = bench.chosen()._replace(reviewer=Instant(bench.place.paths))
    environ = bench.place.environment
    first = run(bench.place.paths, chosen, bench.plan(), environ).as_json()["backfill"]
    assert (first["completed_reviews"], first["pending"], first["scan_finished"]) == (100, 1, False)
    assert first["stopped_because"] == "limit"
    assert [chat["chat_id"] for chat in first["pending_chats"]] == ["claude-code-chat-100"]
    rest = run(bench.place.paths, chosen, bench.plan(), environ).as_json()["backfill"]
    assert (rest["completed_reviews"], rest["skipped"], rest["scan_finished"]) == (1, 100, True)


def test_only_one_run_goes_on_at_a_time(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "one")
    plan = bench.plan()
    refused: list[str] = []

    def run_another(_line: str) -> None:
        if not refused:
            with pytest.raises(InvalidArgument) as error:
                bench.run(plan)
            refused.append(error.value.message)

    assert len(bench.run(plan, Options(tell=run_another)).reviewed) == 1
    assert "Another backfill goes on" in refused[0]


def test_progress_tells_the_rate_and_the_time_that_is_left(bench: BackfillPlace) -> None:
    for number in range(2):
        bench.chat(f"We keep amounts in cents, {number}.", f"chat-{number}")
    told: list[str] = []
    moments = iter([0.0, 100.0, 200.0])
    bench.run(bench.plan(), Options(tell=told.append, clock=lambda: next(moments)))
    assert "1 candidate; 100 s per chat, about 2 min left" in told[1]
    assert told[3].endswith("100 s per chat")


@pytest.mark.row(68)
def test_a_client_that_cannot_be_started_is_a_failure_and_no_traceback(
    bench: BackfillPlace,
) -> None:
    bench.chat("We keep amounts in cents.", "one")
    plan = bench.plan()
    bench.client.write_text("no program")
    result = bench.run(plan)
    assert result.unfinished
    assert "did not start" in result.unfinished[1].reason


def test_what_fails_in_mash_itself_stops_the_run_like_any_other_failure(
    bench: BackfillPlace,
) -> None:
    bench.chat("We keep amounts in cents.", "one")
    plan = bench.plan()

    def switch_off(_line: str) -> None:
        Path(bench.place.paths.config_file).write_text("[records]\nenabled = false\n")

    result = bench.run(plan, Options(tell=switch_off))
    assert result.unfinished
    assert result.unfinished[1].reason.startswith("Records are switched off")
    assert bench.starts() == []
    Path(bench.place.paths.config_file).unlink()

    def remove(_line: str) -> None:
        shutil.rmtree(bench.place.paths.reviews, ignore_errors=True)

    no_folder = bench.run(plan, Options(tell=remove))
    assert no_folder.unfinished
    assert "No such file or directory" in no_folder.unfinished[1].reason
    assert len(plan.of("due")) == len(no_folder.pending) == 1


def test_ctrl_c_ends_the_agent_and_leaves_the_chat_pending(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "one")
    plan = bench.plan()

    def interrupt(line: str) -> None:
        if line.startswith("Review"):
            signal.setitimer(signal.ITIMER_REAL, 0.5)

    def as_ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, as_ctrl_c)
    try:
        result = bench.run(plan, Options(tell=interrupt), STUB="hang")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (result.stopped_because, result.exit_code) == ("interrupted", 130)
    (start,) = bench.starts()
    with pytest.raises(ProcessLookupError):
        os.kill(start["pid"], 0)
    assert len(bench.plan().of("due")) == 1


def test_a_result_is_one_json_object_with_the_pending_chats_and_why(bench: BackfillPlace) -> None:
    bench.chat("We keep amounts in cents.", "one")
    bench.chat("x" * 400_001, "long")
    result = bench.run(bench.plan(), STUB="quota")
    text = json.dumps(result.as_json())
    pending = json.loads(text)["backfill"]["pending_chats"]
    assert {chat["chat_id"] for chat in pending} == {"claude-code-one", "claude-code-long"}
    assert pending[0]["reason"].startswith("Claude Code has reached a limit")
    assert pending[1]["reason"] == "it is too long to be read whole in one review"
    assert STATEMENT not in text
