"""`mash init` tells what it finds and will change, asks, and sees that a hook answers."""

import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mash_plugin.agents.hosts import HOSTS
from mash_plugin.agents.plugin import Installed
from mash_plugin.cli.wizard.check import check_hook
from mash_plugin.cli.wizard.found import Found
from tests.setup.settled import CLAUDE_SETTINGS, CODEX_SETTINGS, settle
from tests.setup.terminals import INTERRUPT, at_terminal
from tests.support.homes import Home
from tests.support.transcripts import ClaudeTranscript, CodexTranscript

pytestmark = pytest.mark.slow


def test_it_tells_which_agents_and_chats_it_found(home: Home) -> None:
    project = str(home.root / "work" / "shop")
    for session in ("s-1", "s-2"):
        ClaudeTranscript(home.claude, project, session).person("We use tabs.")
    chat = CodexTranscript(home.codex, project, "01a22b46-ef78-7e32-8ff3-ca6f94ba9da4")
    chat.person("And spaces.")
    os.utime(chat.path, (1_796_021_684 - 86_400 * 40,) * 2)
    done = home.mash("init", "--dry-run")
    assert re.search(r"Claude Code \(/.*claude\): 2 chats, 1\.\d kB, 20\d\d-\d\d-\d\d\n", done.out)
    assert re.search(r"Codex \(/.*codex\): 1 chat, .* k?B, 2026-10-21\n", done.out)
    assert "Set up already:" not in done.out
    home.mash("init", "--yes", "--no-index")
    done = home.mash("init", "--dry-run")
    assert "Set up already:" in done.out
    assert "- the plugin in Claude Code\n" in done.out
    assert "- nothing: all of it is there\n" in home.mash("init", "--dry-run", "--no-index").out


@pytest.mark.spec("R-155")
def test_a_dry_run_shows_each_line_that_changes_and_changes_no_byte(home: Home) -> None:
    settle(home)
    home.run("claude", "plugin", "list")  # its own first files
    before = {path: _seen(path) for path in home.root.rglob("*")}
    shown = home.mash("init", "--dry-run", "--personal", "--allow-saving")
    assert shown.code == 0, shown
    assert {path: _seen(path) for path in home.root.rglob("*")} == before
    home.mash("init", "--yes", "--personal", "--allow-saving")
    for file, text in (
        (home.claude / "settings.json", CLAUDE_SETTINGS),
        (home.codex / "config.toml", CODEX_SETTINGS),
        (home.mash_home / "config.toml", ""),
    ):
        made = file.read_text().splitlines()
        names = (str(file), f"{file} (after)")
        expected = difflib.unified_diff(text.splitlines(), made, *names, n=2, lineterm="")
        assert "\n".join(expected) in shown.out
    assert shown.out.endswith("Nothing was changed.\n")
    assert home.mash("init", "--dry-run").out.count("\n  none\n") == 1


def test_a_dry_run_shows_no_credential_of_the_settings(home: Home) -> None:
    secret = "ghp_" + "a1B2" * 9
    (home.claude / "settings.json").write_text(f'{{\n  "env": {{"TOKEN": "{secret}"}}\n}}\n')
    done = home.mash("init", "--dry-run")
    assert "[masked" in done.out
    assert secret not in done.out


@pytest.mark.parametrize(("flag", "said"), [("--personal", "true"), ("--no-personal", "false")])
def test_every_answer_has_a_flag(home: Home, flag: str, said: str) -> None:
    home.mash("init", "--yes", "--no-index", "--no-agents", flag)
    assert f"personal_at_start = {said}\n" in (home.mash_home / "config.toml").read_text()
    answers = ["y\n"]
    command = ["mash", "init", "--no-index", flag, "--no-allow-saving"]
    code, shown = at_terminal(command, home.environment, home.home, answers)
    assert code == 0, shown
    assert shown.count("]: ") == 1
    assert "mcp__plugin_mash_mash" not in (home.claude / "settings.json").read_text()


def test_a_dumb_terminal_gets_plain_lines(home: Home) -> None:
    environment = home.environment | {"TERM": "dumb"}
    answers = ["y\n", "n\n", "y\n"]
    code, shown = at_terminal(["mash", "init"], environment, home.home, answers)
    assert code == 0, shown
    assert "Reading chats ..." in shown
    assert "\x1b" not in shown
    assert "\r" not in shown.replace("\r\n", "")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_interrupt_at_any_question_leaves_all_as_it_was(home: Home, number: int) -> None:
    settle(home)
    before = {path: _seen(path) for path in home.root.rglob("*")}
    answers = [*(["y\n"] * number), INTERRUPT]
    code, shown = at_terminal(["mash", "init"], home.environment, home.home, answers)
    assert code == 130, shown
    assert "Nothing was changed." in shown
    assert "Traceback" not in shown
    assert {path: _seen(path) for path in home.root.rglob("*")} == before


def test_an_interrupt_after_the_program_was_built_says_that_it_is_there(home: Home) -> None:
    (home.mash_home / "data/envs/1").mkdir(parents=True)
    (home.mash_home / "data/current").symlink_to("envs/1")
    code, shown = at_terminal(["mash", "init"], home.environment, home.home, [INTERRUPT])
    assert code == 130, shown
    shown = " ".join(shown.split())
    assert "Nothing more was changed: mash is installed, and `mash init` goes on from" in shown


COMMANDS = {
    "exit 3": "ended with 3: no message",
    "/no/python -I x": "ended with 127",
    "true": "gave it no answer in time",
    "echo hello": "printed something else: b'hello\\n'",
    "cat": "printed something else",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hook_that_does_not_answer_is_told_with_the_cause(tmp_path: Path, command: str) -> None:
    file = tmp_path / "mash" / "hooks" / "hooks.json"
    file.parent.mkdir(parents=True)
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}}
    file.write_text(json.dumps(hook))
    assert COMMANDS[command] in (check_hook(_claude(tmp_path), tmp_path) or "")


def test_a_plugin_without_its_files_is_told(tmp_path: Path) -> None:
    assert "not where it was installed" in (check_hook(_claude(tmp_path), tmp_path) or "")
    (tmp_path / "mash").mkdir()
    assert "cannot be read" in (check_hook(_claude(tmp_path), tmp_path) or "")


def test_hooks_that_were_checked_do_not_count_as_hooks_of_the_agents(home: Home) -> None:
    done = home.mash("init", "--yes", "--no-index")
    assert done.out.count("checked, a hook answers.") == 2
    assert home.mash("status").out.count("no hook seen yet") == 2


def test_hooks_that_the_person_switched_off_are_told(home: Home) -> None:
    (home.claude / "settings.json").write_text('{"disableAllHooks": true}')
    done = home.mash("init", "--yes", "--no-index")
    assert "Claude Code runs no hooks: set `disableAllHooks` to false" in done.out


def test_an_interrupt_that_a_script_ignores_does_not_end_a_step() -> None:
    program = (
        "import os, signal; from mash_plugin.cli.wizard.unbroken import unbroken\n"
        "signal.signal(signal.SIGINT, {})\n"
        "with unbroken(): os.kill(os.getpid(), signal.SIGINT); print('one')\n"
        "print('two')\n"
    )
    ignored, heard = (
        subprocess.run(
            [sys.executable, "-c", program.format(handler)],
            capture_output=True,
            text=True,
            check=False,
        )
        for handler in ("signal.SIG_IGN", "signal.default_int_handler")
    )
    assert ignored.stdout == "one\ntwo\n"
    assert heard.stdout == "one\n"


def test_a_hook_that_stays_silent_makes_init_fail(home: Home) -> None:
    deaf = "from mash_plugin.cli.wizard import ending\nending.check_hook = lambda *_: 'it is deaf'"
    code = f"{deaf}\nfrom mash_plugin.cli.main import main\nmain()"
    done = home.run(sys.executable, "-c", code, "init", "--yes", "--no-index")
    assert done.code == 1
    assert "mash: Codex: no hook answers: it is deaf. See `mash doctor`." in done.err


def _claude(folder: Path) -> Found:
    host = HOSTS[0]
    return Found(host, host.find_place({"HOME": str(folder)}), Installed("installed"))


def _seen(path: Path) -> tuple[int, bytes]:
    status = path.lstat()
    return status.st_mtime_ns, path.read_bytes() if path.is_file() else b""
