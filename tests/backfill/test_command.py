"""`mash backfill` as a person or a script runs it."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mash_plugin.cli.backfill import parse_since
from tests.setup.terminals import at_terminal
from tests.support.backfill_place import BackfillPlace, Json
from tests.support.polling import eventually
from tests.support.warm_starts import run_mash

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "mash_plugin", "backfill"]


def mash(
    bench: BackfillPlace, *options: str, answer: str | None = None, **environment: str
) -> tuple[int, Json, str]:
    """Exit code, result and standard error; with an answer its standard input is a terminal."""
    given = bench.place.environment | environment
    if answer is None:
        done = run_mash(("backfill", *options), Path.cwd(), given)
    else:
        done = _answered([*COMMAND, *options], given, answer)
    return done.returncode, json.loads(done.stdout or "{}").get("backfill", {}), done.stderr


def _answered(
    command: list[str], environment: dict[str, str], answer: str
) -> "subprocess.CompletedProcess[str]":
    terminal, stdin = pty.openpty()
    os.write(terminal, answer.encode())
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(stdin)


def config(bench: BackfillPlace) -> str:
    file = Path(bench.place.paths.config_file)
    return file.read_text() if file.exists() else ""


@pytest.fixture
def chat(bench: BackfillPlace) -> str:
    bench.chat("We keep amounts in cents.", "one")
    bench.place.index()
    return "claude-code-one"


@pytest.mark.spec("R-142", "R-145", "R-148")
def test_the_notice_comes_first_and_the_result_is_one_json_object(
    bench: BackfillPlace, chat: str
) -> None:
    code, result, told = mash(bench, "--agent", "claude-code", "--yes")
    assert (code, result["agent"], result["completed_reviews"]) == (0, "claude-code", 1)
    cost, first = told.index("uses tokens of your Claude Code account"), told.index("Review 1 of 1")
    assert cost < told.index("sends the text of the") < first
    assert "1 chat reviewed, 1 candidate saved" in told
    assert f"backfill_since = {result['since']}" in config(bench)


def test_a_person_at_a_terminal_is_told_in_words(bench: BackfillPlace, chat: str) -> None:
    folder = Path(bench.place.paths.data)
    command = [*COMMAND, "--dry-run"]
    code, shown = at_terminal(command, bench.place.environment, folder, [""])
    assert (code, "1 to review" in shown, "{" in shown) == (0, True, False)
    _, shown = at_terminal([*command, "--json"], bench.place.environment, folder, [""])
    assert json.loads(shown)["backfill"]["stopped_because"] == "dry_run"


@pytest.mark.spec("R-146")
def test_with_nothing_to_do_the_client_is_not_even_asked_for_the_sign_in(
    bench: BackfillPlace, chat: str
) -> None:
    mash(bench, "--yes", "--agent", "claude-code")
    bench.client.write_text("#!/bin/sh\nexit 9\n")
    code, result, _ = mash(bench, "--yes", "--agent", "claude-code")
    assert (code, result["skipped"], result["scan_finished"]) == (0, 1, True)


def test_a_dry_run_starts_nothing_and_keeps_nothing(bench: BackfillPlace, chat: str) -> None:
    code, result, told = mash(bench, "--dry-run")
    assert (code, result["pending"], result["stopped_because"]) == (0, 1, "dry_run")
    assert "1 to review" in told
    assert (bench.starts(), config(bench)) == ([], "")


@pytest.mark.spec("R-142")
def test_the_person_is_asked_and_may_say_no(bench: BackfillPlace, chat: str) -> None:
    code, _, told = mash(bench, answer="n\n")
    assert (code, bench.starts()) == (1, [])
    assert "sends the text of the" in told
    assert told.endswith("Nothing was reviewed.\n")
    assert config(bench) == ""
    assert mash(bench, answer="y\n")[1]["completed_reviews"] == 1


def test_without_a_terminal_it_asks_for_yes(bench: BackfillPlace, chat: str) -> None:
    code, _, told = mash(bench)
    assert (code, bench.starts()) == (2, [])
    assert "add --yes" in told


def test_who_is_not_signed_in_is_told_how(bench: BackfillPlace, chat: str) -> None:
    code, result, told = mash(
        bench, "--yes", "--agent", "claude-code", STUB_SIGNED_IN="no", ANTHROPIC_API_KEY=""
    )
    assert (code, result, bench.starts()) == (1, {}, [])
    assert "You are not signed in to Claude Code: start `claude` and type /login" in told


@pytest.mark.row(68)
def test_a_client_that_is_not_there_is_named(bench: BackfillPlace, chat: str) -> None:
    code, _, told = mash(bench, "--yes", "--agent", "codex")
    assert code == 1
    assert "The command of Codex is not on PATH" in told


def test_two_signed_in_agents_need_a_choice(bench: BackfillPlace, chat: str) -> None:
    codex = bench.client.with_name("codex")
    codex.write_text("#!/bin/sh\nexit 0\n")
    codex.chmod(0o755)
    code, _, told = mash(bench, "--yes")
    assert code == 1
    assert "--agent claude-code or --agent codex" in told


@pytest.mark.spec("R-147", "R-149")
def test_an_unfinished_review_is_an_exit_code_and_a_plain_reason(
    bench: BackfillPlace, chat: str
) -> None:
    code, result, told = mash(bench, "--yes", STUB="quota")
    assert (code, result["stopped_because"], result["pending"]) == (1, "unfinished_review", 1)
    assert "Stopped: Claude Code has reached a limit" in told
    assert "Run `mash backfill` again to go on" in told


@pytest.mark.parametrize("option", [["--limit", "101"], ["--limit", "0"], ["--agent", "gemini"]])
def test_what_cannot_be_is_a_usage_error(bench: BackfillPlace, option: list[str]) -> None:
    assert mash(bench, *option)[0] == 2


def test_json_leaves_the_progress_out(bench: BackfillPlace, chat: str) -> None:
    code, result, told = mash(bench, "--yes", "--json")
    assert (code, result["records_saved"]) == (0, 1)
    assert "Review 1" not in told


@pytest.mark.spec("R-147")
def test_ctrl_c_gives_the_result_and_130(bench: BackfillPlace, chat: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--yes"],
        env=bench.place.environment | {"STUB": "hang"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    eventually(bench.starts, "no review began")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["backfill"]["stopped_because"] == "interrupted"
    assert len(bench.plan().of("due")) == 1


def test_a_window_can_be_named_in_many_ways() -> None:
    now = 1_796_100_000_000
    assert parse_since("3d", now) == now - 3 * 86_400_000
    assert parse_since("12h", now) == now - 12 * 3_600_000
    assert parse_since("2w", now) == now - 14 * 86_400_000
    assert parse_since("1796000000000", now) == 1_796_000_000_000
    assert parse_since("2026-11-27T00:00:00+00:00", now) == 1_795_737_600_000
    with pytest.raises(click.UsageError, match="--since soon is no length"):
        parse_since("soon", now)
