"""What a person sees and switches of running sessions: the ledger, a pause, the status line."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mash_plugin.cli.statusline import words_of
from mash_plugin.daemon.methods import METHODS
from tests.support.homes import ROOT, Home
from tests.support.polling import eventually
from tests.support.saved import begin, save
from tests.support.transcripts import ClaudeTranscript, write_repository

WISH = "From now on always run the linter before committing."
TOLD = {
    "project": "host.example/team/shop",
    "records": 2,
    "saved_at": 1_000,
    "imported": 0,
    "is_paused": False,
    "paused_until": None,
    "off": [],
    "switches": {"records": True, "capture": True, "recall": True},
    "problem": None,
    "now": 7_201_000,
}


@pytest.fixture
def shop(home: Home, tmp_path: Path) -> Path:
    return write_repository(tmp_path / "shop", f"git@host.example:team/{tmp_path.name}.git")


def hook(home: Home, name: str, event: str, cwd: Path, session: str, **fields: Any) -> str:
    payload = {"session_id": session, "cwd": str(cwd), "hook_event_name": event, **fields}
    script = str(ROOT / "hooks" / name)
    done = home.run(
        *("python", "-I", "-S", script, "claude-code", str(home.mash_home)),
        stdin=json.dumps(payload),
    )
    assert done.code == 0, done
    output = json.loads(done.out or '{"hookSpecificOutput": {"additionalContext": ""}}')
    return str(output["hookSpecificOutput"]["additionalContext"])


def start(home: Home, cwd: Path, session: str) -> str:
    return hook(home, "session-start", "SessionStart", cwd, session, source="startup")


def wish(home: Home, cwd: Path, session: str) -> str:
    return hook(home, "prompt-submit", "UserPromptSubmit", cwd, session, prompt=WISH)


def heard(home: Home, cwd: Path, session: str) -> str:
    """The note, which a busy machine may bring only with a later prompt."""
    return eventually(lambda: wish(home, cwd, session), "no prompt brings the note")


def line(home: Home, given: bytes) -> str:
    done = subprocess.run(
        ["mash", "statusline"],
        input=given,
        env=home.environment,
        cwd=home.home,
        capture_output=True,
        timeout=20,
        check=True,
    )
    shown = done.stdout.decode()
    assert (done.stderr, shown.count("\n"), shown[:6]) == (b"", 1, "mash: ")
    return shown[6:].strip()


def line_in(home: Home, cwd: Path, session: str = "s-1") -> str:
    given = {"session_id": session, "cwd": "/", "workspace": {"current_dir": str(cwd)}}
    return line(home, json.dumps(given).encode())


def test_the_ledger_tells_what_each_hook_gave_a_session(home: Home, shop: Path) -> None:
    begun = eventually(lambda: start(home, shop, "ledger-1"), "the session is told nothing")
    told = begun, wish(home, shop, "ledger-1"), wish(home, shop, "ledger-1")
    home.move_clock(0.1)
    start(home, shop, "ledger-2")
    home.move_clock(0.1)
    body = json.loads(home.mash("status", "--session", "ledger-1", "--json").out)
    assert body["session"]["agent"] == "claude-code"
    assert body["session"]["project"] == str(shop)
    notes = [text for text in told[1:] if text]  # a busy machine may be too late for one
    assert notes
    assert body["injected"] == [
        {"hook": "prompt-submit", "times": len(notes), "bytes": len("".join(notes).encode())},
        {"hook": "session-start", "times": 1, "bytes": len(told[0].encode())},
    ]
    total = sum(len(text.encode()) for text in told)
    assert body["total"] == {"times": 1 + len(notes), "bytes": total}
    newest = home.mash("status", "--session", "newest").out
    assert newest.startswith(f"Session ledger-2 of claude-code, {shop}\n")
    assert "session-start  1" in newest
    shown = home.mash("status", "--session", "ledger-1").out
    assert f"{body['total']['bytes']:,}" in shown


@pytest.mark.parametrize(
    ("name", "said"), [("no-such", "No hook has run in a session 'no-such'"), ("led", "More than")]
)
def test_a_session_that_is_not_known_or_not_named_plainly_is_an_error(
    home: Home, shop: Path, name: str, said: str
) -> None:
    for session in ("led-1", "led-2"):
        start(home, shop, session)
    done = home.mash("status", "--session", name)
    assert done.code == 1
    assert said in done.err
    assert home.mash("status", "--session", "led-1").code == 0


def said_in(home: Home, cwd: Path, session: str, *, headless: bool = False) -> None:
    """What was said in a session, as its transcript has it."""
    chat = ClaudeTranscript(home.claude, str(cwd), session)
    (chat.headless if headless else chat.person)(f"Words of {session}.")
    assert home.mash("index").code == 0


def test_a_pause_silences_the_only_open_session_of_the_folder_at_once(
    home: Home, shop: Path
) -> None:
    for session in ("p-1", "p-ended", "p-headless"):
        assert heard(home, shop, session)
        said_in(home, shop, session, headless=session == "p-headless")
        home.move_clock(0.1)
    hook(home, "reminder-timer", "SessionEnd", shop, "p-ended", reason="other")
    done = home.mash("pause", "--for", "2h", cwd=shop)
    assert done.code == 0, done
    assert done.out.startswith(f"Paused session p-1 of claude-code in {shop} “Words of p-1.”, ")
    assert "`mash pause --off` ends it." in " ".join(done.out.split())
    assert wish(home, shop, "p-1") == ""
    assert heard(home, shop, "p-ended")
    assert "hooks in session p-1 of claude-code" in home.mash("status").out
    assert line_in(home, shop, "p-1").startswith("paused until ")
    assert not line_in(home, shop, "p-ended").startswith("paused")
    home.move_clock(121)
    assert heard(home, shop, "p-1")
    assert "hooks in session p-1" not in home.mash("status").out


def test_of_several_open_sessions_none_is_paused_unnamed(home: Home, shop: Path) -> None:
    for session in ("several-1", "several-2"):
        assert heard(home, shop, session)
        said_in(home, shop, session)
        home.move_clock(0.1)
    refused = home.mash("pause", cwd=shop)
    assert (refused.code, refused.out) == (1, "")
    first, second = (line for line in refused.err.splitlines() if "several-" in line)
    assert first.startswith(f"1. session several-2 of claude-code in {shop} “Words of several-2.”")
    assert second.startswith("2. session several-1 of ")
    assert "Nothing was paused. Name one: mash pause --session ID" in refused.err
    assert all(heard(home, shop, session) for session in ("several-1", "several-2"))
    home.move_clock(13 * 60)
    assert heard(home, shop, "several-1")
    assert home.mash("pause", cwd=shop).out.startswith("Paused session several-1 of ")


def test_off_ends_what_was_paused_here_whatever_ran_since(home: Home, shop: Path) -> None:
    assert heard(home, shop, "off-1")
    assert "`mash pause --off` ends it" in home.mash("pause", cwd=shop).out
    home.move_clock(0.1)
    assert heard(home, shop, "off-2")
    assert "`mash pause --off` ends it" in home.mash("status", cwd=shop).out
    assert "`mash pause --off --session off-1` ends it" in home.mash("status", cwd=Path("/usr")).out
    assert home.mash("pause", "--off", cwd=shop).out == "No longer paused: session off-1.\n"
    assert heard(home, shop, "off-1")


def test_a_folder_that_is_no_project_pauses_no_session_elsewhere(home: Home, shop: Path) -> None:
    assert heard(home, shop, "elsewhere-1")
    refused = home.mash("pause", cwd=Path("/usr"))
    assert (refused.code, refused.out) == (1, "")
    assert "mash pause --session ID" in refused.err
    assert "elsewhere-1" in refused.err
    assert heard(home, shop, "elsewhere-1")
    below = home.mash("pause", cwd=shop.parent)
    assert below.out.startswith("Paused session elsewhere-1 of ")
    here = home.mash("pause", "--off", cwd=Path("/usr")).out
    assert here.startswith("Nothing is paused here.")
    assert "`mash pause --off --session elsewhere-1` ends it." in " ".join(here.split())
    assert home.mash("pause", "--off", cwd=shop.parent).code == 0
    assert "mash pause --for 2h" in home.mash("pause", "2h").err


def test_an_agents_shell_names_its_session_and_off_ends_the_pause(home: Home, shop: Path) -> None:
    for session in ("q-1", "q-2"):
        wish(home, shop, session)
    own = {"CLAUDE_CODE_SESSION_ID": "q-1"}
    assert "session q-1" in home.mash("pause", env=own).out
    assert wish(home, shop, "q-1") == ""
    assert home.mash("daemon", "restart").code == 0
    assert wish(home, shop, "q-1") == ""
    assert home.mash("pause", "--off", env=own).out == "No longer paused: session q-1.\n"
    assert heard(home, shop, "q-1")
    assert home.mash("pause", "--off", env=own).out.startswith("Nothing is paused here.")


def test_the_newest_session_is_named_so_wherever_it_ran(home: Home, shop: Path) -> None:
    assert heard(home, shop, "n-1")
    home.move_clock(0.1)
    assert heard(home, shop, "n-2")
    newest = ("--session", "newest")
    elsewhere = Path("/usr")
    assert home.mash("pause", *newest, cwd=elsewhere).out.startswith("Paused session n-2 of ")
    assert home.mash("pause", "--off", *newest, cwd=elsewhere).out == (
        "No longer paused: session n-2.\n"
    )
    assert "n-2" in home.mash("status", *newest).out


def test_a_project_is_paused_for_all_its_sessions(home: Home, shop: Path, tmp_path: Path) -> None:
    other = write_repository(tmp_path / "other", None)
    done = home.mash("pause", "--project", "--json", cwd=shop)
    target = f"project:host.example/team/{tmp_path.name}"
    assert json.loads(done.out)["target"] == target
    assert [bool(wish(home, cwd, "r-1")) for cwd in (shop, other)] == [False, True]
    assert start(home, shop, "r-2") == ""
    assert line_in(home, shop) == "paused"
    assert f"hooks in project {target[8:]}" in home.mash("status").out
    assert home.mash("pause", "--off", cwd=shop).code == 0
    assert heard(home, shop, "r-2")


@pytest.mark.parametrize(
    "arguments",
    [["2h"], ["--for", "2"], ["--for", "0h"], ["--for", "soon"], ["--off", "--for", "2h"]],
)
def test_what_a_pause_cannot_mean_is_a_usage_error(home: Home, arguments: list[str]) -> None:
    assert home.mash("pause", *arguments).code == 2


def test_no_tool_of_an_agent_pauses(home: Home) -> None:
    assert "pause" in METHODS
    answer = home.call("pause", {"what": "project", "cwd": "/"})
    assert "the person's own commands" in answer["error"]["message"]


def test_the_status_line_tells_of_the_project(fresh: Home) -> None:
    begin(fresh)
    shop = fresh.root / "work/shop-1"
    assert line_in(fresh, shop) == "0 records"
    save(fresh, "established", "Invoices are rendered with Typst.")
    assert line_in(fresh, shop) == "1 record, last saved just now"
    fresh.move_clock(3 * 60)
    save(fresh, "candidate", "Letters too.")
    fresh.move_clock(5)
    assert line_in(fresh, shop) == "2 records, last saved 5 min ago"
    (shop / ".mash").write_text("capture = off\n")
    assert line_in(fresh, shop) == "2 records, last saved 5 min ago (saving notes off)"
    (shop / ".mash").write_text("")
    assert line_in(fresh, shop) == "off here"
    assert line_in(fresh, Path("/")) == "no project here"


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\xff\x00not json",
        b"[]",
        b'{"workspace": [], "cwd": 7, "session_id": {}}',
        b'{"workspace": {"current_dir": "/gone/away\\u0000"}, "session_id": "\\ud83d"}',
        b"[" * 200_000,
    ],
)
def test_the_status_line_never_fails_and_starts_no_daemon(
    home: Home, fresh: Home, given: bytes
) -> None:
    assert line(home, given)
    assert line(fresh, given) == "daemon not running, the next hook starts it"
    assert not (fresh.mash_home / "run/s.sock").exists()


def test_the_status_line_says_first_what_keeps_mash_from_working() -> None:
    assert words_of(TOLD, {}) == "2 records, last saved 2 h ago"
    assert words_of({**TOLD, "imported": 3}, {}).startswith("2 records and 3 of another owner, ")
    assert words_of({**TOLD, "off": ["everything"]}, {}) == "off here"
    assert words_of({**TOLD, "is_paused": True}, {}) == "paused"
    assert words_of({**TOLD, "problem": {"code": "x"}, "is_paused": True}, {}).startswith("PROBLEM")
    assert words_of(TOLD, {"MASH_RECORD_CAPTURE": "Off"}).endswith("(saving notes off)")
    switches = {"records": False, "capture": False, "recall": False}
    assert words_of({**TOLD, "switches": switches}, {}).endswith("(saving notes, recall off)")
