"""`mash log`: what was saved and shown, at once and as it happens."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.test_chats_commands import SESSION
from tests.support.daemons import HOOKS
from tests.support.homes import Home
from tests.support.polling import eventually
from tests.support.saved import WORDS, begin, record, save


@pytest.fixture(scope="module")
def told(home: Home) -> Home:
    begin(home)
    save(home, "established", "Invoices are rendered with Typst.")
    return home


@contextmanager
def following(home: Home, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A `mash log --follow` and the file that it writes to."""
    out = home.root / "followed"
    with out.open("wb") as file:
        process = subprocess.Popen(
            ["mash", "log", "--follow", *options],
            env=home.environment,
            cwd=home.home,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            # A run in the background of a script inherits that it is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        yield process, out
    finally:
        process.kill()
        process.wait(10)


def start_session(home: Home, session_id: str) -> None:
    """What Claude Code does at a start in the shop's clone."""
    clone = home.root / "work/shop-1"
    event = {
        "session_id": session_id,
        "cwd": str(clone),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    done = home.run(
        *("python", "-I", "-S", str(HOOKS / "session-start"), "claude-code", str(home.mash_home)),
        stdin=json.dumps(event),
    )
    assert "Typst" in done.out, done


def test_the_log_tells_who_saved_what(told: Home) -> None:
    done = told.mash("log")
    assert done.code == 0, done
    heading, first, second, *_ = done.out.splitlines()
    assert heading.split() == ["When", "UTC+00:00", "What", "Record", "Details"]
    assert "  saved  " in first
    assert first.endswith("Invoices are rendered with Typst.")
    assert second.endswith(f"decision by session {SESSION}")
    (event,) = json.loads(told.mash("log", "--json", "--limit", "1").out)["events"]
    assert event["statement"] == "Invoices are rendered with Typst."


@pytest.mark.parametrize("when", ["2h", "90 m", "1w", "2020-01-01", "2020-01-01 10:00"])
def test_the_begin_is_so_long_ago_or_a_date(told: Home, when: str) -> None:
    assert "Typst" in told.mash("log", "--since", when).out


def test_nothing_since_then_says_so_and_nonsense_is_refused(told: Home) -> None:
    done = told.mash("log", "--since", "2099-01-01")
    assert (done.code, done.out) == (0, "")
    assert "Nothing happened" in done.err
    assert "the last day" not in done.err
    assert "Nothing more" in told.mash("log", "--offset", "99999").err
    for when in ("soon", "3 parsecs", "2026-13-01"):
        done = told.mash("log", "--since", when)
        assert done.code == 2
        assert "2026-11-30" in done.err
        assert len(done.err.splitlines()) == 1


def test_what_a_session_was_shown_stands_in_the_log(told: Home) -> None:
    start_session(told, "11111111-aaaa-4333-8444-555555555555")

    def events() -> list[dict[str, object]]:
        found = json.loads(told.mash("log", "--json").out)["events"]
        return [e for e in found if e["event"] == "shown" and "id" in e]

    eventually(lambda: events() != [], "nothing was shown")
    (event,) = events()
    assert event["agent"] == "claude-code"
    assert event["statement"] == "Invoices are rendered with Typst."
    assert "to session 11111111-aaaa-4333-8444-555555555555 (claude-code) at its start" in (
        told.mash("log").out
    )


def test_following_shows_what_happens_and_ends_quietly(told: Home) -> None:
    save(told, "candidate", "Said before.")
    with following(told) as (process, out):
        eventually(lambda: "Said before." in out.read_text(), "the begin is not shown")
        start_session(told, "22222222-aaaa-4333-8444-555555555555")
        save(told, "candidate", "Said meanwhile.")
        eventually(lambda: "Said meanwhile." in out.read_text(), "what was saved is not shown")
        eventually(lambda: "session 22222222" in out.read_text(), "what was shown is not told")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    text = out.read_text()
    assert text.count("Said meanwhile.") == 1
    assert "Traceback" not in text
    assert "interrupted" not in text


def test_following_as_json_is_a_line_an_event_and_outlives_the_daemon(told: Home) -> None:
    with following(told, "--json", "--since", "1d") as (_, out):
        eventually(lambda: "Invoices" in out.read_text(), "the begin is not shown")
        told.mash("daemon", "stop")
        save(told, "candidate", "Said after a restart.")
        eventually(lambda: "after a restart" in out.read_text(), "the new daemon is not asked")
    events = [json.loads(line) for line in out.read_text().splitlines()]
    saved = [e["statement"] for e in events if e["event"] == "saved"]
    assert saved.count("Said after a restart.") == 1
    assert saved[0] == "Invoices are rendered with Typst."


def test_what_is_followed_has_no_pages(told: Home) -> None:
    for option in ("--limit", "--offset"):
        done = told.mash("log", "--follow", option, "3")
        assert (done.code, done.out) == (2, "")
        assert f"leave {option} out" in done.err


def test_a_reader_that_leaves_ends_it_without_a_word(told: Home) -> None:
    done = told.run("sh", "-c", "mash log --follow --json --since 1d | head -n 1")
    assert done.err == ""


def test_what_was_reworded_after_it_was_shown_says_so(fresh: Home) -> None:
    begin(fresh)
    first = save(fresh, "established", "Invoices are rendered with Typst.")
    start_session(fresh, "22222222-aaaa-4333-8444-555555555555")
    eventually(lambda: " at its start" in fresh.mash("log").out, "the showing is not written")
    assert "revised since" not in fresh.mash("log").out
    fresh.move_clock(1)
    details = {"kind": "decision", "state": "accepted"}
    body = {"statement": "Invoices use Typst 1.", "review": "established", "details": details}
    change = {
        "action": "supersede",
        "expected": {"id": first, "revision": 1},
        "body": body,
        "evidence": [{"session_id": SESSION, "purpose": "endorsement", "quote": WORDS}],
    }
    record(fresh, change)
    assert "at its start; revised since, this is how it reads now" in fresh.mash("log").out
    assert "1 superseded or withdrawn" in fresh.mash("status").out
