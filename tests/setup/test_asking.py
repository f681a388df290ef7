"""On a terminal `mash init` and `mash uninstall` ask first."""

import os
import pty
import select
import signal
import subprocess
import time

import pytest

from tests.support.homes import Home


def on_a_terminal(home: Home, typed: str | None, *command: str) -> tuple[int, str]:
    """Run a command on a pseudo terminal; when it asks, type the answer, or interrupt it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
        env=home.environment,
        cwd=home.home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # A run in the background of a script inherits that it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    shown, deadline, has_answered = b"", time.monotonic() + 30, False
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the terminal closed with its last process
                break
            shown += chunk
        if b"? [" in shown and typed is None and b"interrupted" not in shown:
            # Again and again: one that comes just before Python reads is noticed too late.
            process.send_signal(signal.SIGINT)
        elif b"? [" in shown and not has_answered:
            os.write(ours, (typed or "").encode())
            has_answered = True
    os.close(ours)
    return process.wait(10), shown.decode()


@pytest.mark.spec("R-152")
def test_no_is_an_answer_that_changes_nothing(home: Home) -> None:
    code, shown = on_a_terminal(home, "n\n", "mash", "init")
    assert code == 1
    assert "Nothing was changed." in shown
    assert not home.mash_home.exists()


@pytest.mark.spec("R-152")
def test_enter_goes_on(home: Home) -> None:
    code, shown = on_a_terminal(home, "\n", "mash", "init", "--no-agents", "--no-index")
    assert code == 0, shown
    assert (home.mash_home / "data/records.db").exists()


@pytest.mark.parametrize(
    ("typed", "is_there", "personal"), [("y\n\n\n", False, "true"), ("y\ny\nn\n", True, "false")]
)
def test_the_rule_is_not_taken_by_itself_and_personal_preferences_are_suggested(
    home: Home, typed: str, is_there: bool, personal: str
) -> None:
    home.mash_home.mkdir()
    own = "# mine\n[records]\ncapture = true # kept\n"
    (home.mash_home / "config.toml").write_text(own)
    code, shown = on_a_terminal(home, typed, "mash", "init", "--no-index")
    assert code == 0, shown
    assert "Show them? [Y/n]" in shown
    config = (home.mash_home / "config.toml").read_text()
    assert config.startswith(own)
    assert f"[recall]\npersonal_at_start = {personal}\n" in config
    assert "Claude Code and Codex will ask you before each save" in shown
    assert "Add it? [y/N]" in shown
    claude, codex = home.claude / "settings.json", home.codex / "config.toml"
    assert ('"mcp__plugin_mash_mash"' in claude.read_text()) is is_there
    assert ('default_tools_approval_mode = "approve"' in codex.read_text()) is is_there
    code, shown = on_a_terminal(home, "y\n", "mash", "init", "--no-index")
    assert code == 0
    assert "Add it?" not in shown
    assert "Show them?" not in shown


def test_an_interrupt_is_exit_code_130(home: Home) -> None:
    code, shown = on_a_terminal(home, None, "mash", "init")
    assert code == 130, shown
    assert "Traceback" not in shown
    assert "\nmash: interrupted." in shown
    assert not home.mash_home.exists()


def test_all_memory_is_removed_only_after_a_plain_yes(home: Home) -> None:
    home.mash("init", "--yes", "--no-agents", "--no-index")
    code, shown = on_a_terminal(home, "\n", "mash", "uninstall", "--data")
    assert "ALL MEMORY" in shown
    assert code == 1
    assert "Nothing was changed." in shown
    assert "interrupted" not in shown
    assert (home.mash_home / "data/records.db").exists()
